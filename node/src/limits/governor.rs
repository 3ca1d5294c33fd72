//! Moves a limit: up by half while more is wanted and nothing is short, down by a quarter while memory or bandwidth is, back to
//! what is used when less is. Pure.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub lowest: u32,
    pub highest: u32,
}

/// Shortages, in which nothing more should be begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// All cores are busy, and with this process: more at once would only wait. Others that keep the cores busy are no reason.
    pub cpu_is_short: bool,
    pub memory_is_short: bool,
    /// As much comes from the sites as may.
    pub bandwidth_is_short: bool,
}

/// The reason that a limit does not rise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum At {
    /// Nothing: no more is wanted, or it is rising.
    #[default]
    Ease,
    Highest,
    Cpu,
    Memory,
    Bandwidth,
    /// What comes next cannot keep up.
    Queue,
}

impl At {
    /// For figures; empty when nothing does.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ease => "",
            Self::Highest => "highest",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Bandwidth => "bandwidth",
            Self::Queue => "queue",
        }
    }
}

/// Use of a limit.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    pub in_use: u32,
    /// Somebody has waited, or would if there were more.
    pub is_full: bool,
    pub next_is_behind: bool,
}

/// The next value of a limit, and what it is at. While little is asked of it, back to where it started.
pub fn moved(value: u32, start: u32, bounds: Bounds, demand: Demand, load: Load) -> (u32, At) {
    let Bounds { lowest, highest } = bounds;
    let value = value.clamp(lowest, highest);
    if load.memory_is_short || load.bandwidth_is_short {
        let at = if load.memory_is_short { At::Memory } else { At::Bandwidth };
        return ((value - (value / 4).max(1)).max(lowest), at);
    }
    if !demand.is_full {
        let enough = demand.in_use.saturating_mul(2).max(start).clamp(lowest, highest);
        let down = if value > enough { (value - (value / 8).max(1)).max(enough) } else { value };
        return (down, At::Ease);
    }
    if value == highest {
        return (value, At::Highest);
    }
    match (load.cpu_is_short, demand.next_is_behind) {
        (true, _) => (value, At::Cpu),
        (_, true) => (value, At::Queue),
        _ => ((value + (value / 2).max(1)).min(highest), At::Ease),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { lowest: 10, highest: 100 };
    const FULL: Demand = Demand { in_use: 0, is_full: true, next_is_behind: false };

    fn step(value: u32, demand: Demand, load: Load) -> (u32, At) {
        moved(value, 20, BOUNDS, demand, load)
    }

    #[test]
    fn it_rises_while_more_is_wanted_and_says_what_keeps_it() {
        let ease = Load::default();
        assert_eq!(step(20, FULL, ease), (30, At::Ease));
        assert_eq!(step(90, FULL, ease), (100, At::Ease));
        assert_eq!(step(100, FULL, ease), (100, At::Highest));
        assert_eq!(step(30, FULL, Load { cpu_is_short: true, ..ease }), (30, At::Cpu));
        assert_eq!(step(30, Demand { next_is_behind: true, ..FULL }, ease), (30, At::Queue));
        assert_eq!(moved(1, 1, Bounds { lowest: 1, highest: 4 }, FULL, ease), (2, At::Ease), "small ones rise too");
    }

    #[test]
    fn short_memory_or_bandwidth_brings_it_down_to_its_lowest_whatever_is_wanted() {
        let busy = Load { cpu_is_short: true, ..Load::default() };
        let short_of = [
            (Load { memory_is_short: true, ..busy }, At::Memory),
            (Load { bandwidth_is_short: true, ..busy }, At::Bandwidth),
        ];
        for (short, at) in short_of {
            let (mut value, mut steps) = (100, 0);
            while value > BOUNDS.lowest {
                (value, _) = step(value, FULL, short);
                steps += 1;
            }
            assert!(steps < 12, "{steps}");
            assert_eq!(step(value, FULL, short), (BOUNDS.lowest, at));
        }
    }

    #[test]
    fn it_follows_what_is_used_down_but_not_below_where_it_started() {
        let used = |in_use| Demand { in_use, is_full: false, next_is_behind: false };
        assert_eq!(step(96, used(30), Load::default()), (84, At::Ease));
        assert_eq!(step(62, used(30), Load::default()), (60, At::Ease));
        assert_eq!(step(60, used(30), Load::default()), (60, At::Ease));
        assert_eq!(step(20, used(0), Load::default()), (20, At::Ease));
    }

    #[test]
    fn new_bounds_count_at_once() {
        let used = Demand { in_use: 80, is_full: false, next_is_behind: false };
        assert_eq!(moved(80, 20, Bounds { lowest: 1, highest: 5 }, used, Load::default()).0, 5);
        assert_eq!(moved(3, 20, Bounds { lowest: 40, highest: 50 }, used, Load::default()).0, 40);
    }
}
