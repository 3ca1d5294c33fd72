"""What is wrong, gathered by all checks, and reading of YAML in which a mistake does not pass unseen."""

import yaml

problems = []


def wrong(where, what):
    problem = f"{where}: {what}"
    if problem not in problems:
        problems.append(problem)


class Loader(yaml.SafeLoader):
    """YAML in which a key that stands twice is a mistake; PyYAML would take the last one."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value if key.value != "<<"]
        for key in {key for key in keys if keys.count(key) > 1}:
            raise yaml.MarkedYAMLError(problem=f"the key {key!r} stands twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


def load(path):
    """The documents of a file, none when it cannot be read."""
    try:
        return [document for document in yaml.load_all(path.read_text(), Loader) if document]
    except (OSError, yaml.YAMLError) as error:
        wrong(path, " ".join(str(error).split()))
        return []


def at(value, *path):
    """What stands there, `None` where the way to it breaks off."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
