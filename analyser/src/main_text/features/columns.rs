//! Where features go: into columns, one per feature, so that a rule runs over all units of a page at once.

/// Takes the features of one unit after the other.
pub(crate) trait Sink {
    fn put(&mut self, name: &str, value: f32);

    /// A feature with a name in two parts, which are joined only where the name is wanted.
    fn put_of(&mut self, whose: &str, name: &str, value: f32);
}

/// Units whose features are held at once: so many fit into a core's nearest cache, at a kilobyte each.
pub(crate) const UNITS_AT_ONCE: usize = 32;

/// One feature of all units; those behind the last unit mean nothing.
pub(crate) type Column = [f32; UNITS_AT_ONCE];

/// Features of some units, one feature after the other, so that a rule runs over them at once.
#[derive(Default)]
pub(crate) struct Columns {
    values: Vec<Column>,
    rows: usize,
    row: usize,
    next: usize,
}

impl Columns {
    /// Makes room for so many units, at most [`UNITS_AT_ONCE`], each of whose features must then be put.
    pub(super) fn begin(&mut self, rows: usize, features: usize) {
        self.values.resize(features, [0.0; UNITS_AT_ONCE]);
        (self.rows, self.row, self.next) = (rows, 0, 0);
    }

    /// What is put from here on is about this unit.
    pub(super) fn begin_row(&mut self, row: usize) {
        (self.row, self.next) = (row, 0);
    }

    pub fn column(&self, feature: usize) -> &Column {
        &self.values[feature]
    }

    pub fn rows(&self) -> usize {
        self.rows
    }
}

impl Sink for Columns {
    #[inline]
    fn put(&mut self, _name: &str, value: f32) {
        self.values[self.next][self.row] = value;
        self.next += 1;
    }

    #[inline]
    fn put_of(&mut self, _whose: &str, name: &str, value: f32) {
        self.put(name, value);
    }
}

/// The names of the features instead of their values.
pub(super) struct Names(pub Vec<String>);

impl Sink for Names {
    fn put(&mut self, name: &str, _value: f32) {
        self.0.push(name.to_owned());
    }

    fn put_of(&mut self, whose: &str, name: &str, _value: f32) {
        self.0.push(format!("{whose} {name}"));
    }
}

/// Gives all units the same value.
pub(super) struct WholeColumns<'c>(pub &'c mut Columns);

impl Sink for WholeColumns<'_> {
    fn put(&mut self, _name: &str, value: f32) {
        // Behind the columns of the last unit.
        self.0.values[self.0.next].fill(value);
        self.0.next += 1;
    }

    fn put_of(&mut self, _whose: &str, name: &str, value: f32) {
        self.put(name, value);
    }
}
