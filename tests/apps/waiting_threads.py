"""What the program waiting_threads says of itself, and what a measurement of it found."""

import re


def spent(text):
    """Seconds by function, as the program prints them."""
    return {name: float(value) for name, value in re.findall(r"^(\w+) ([\d.]+)$", text, re.M)}


def found(roots, names, metric="REALTIME:sum (I)"):
    """The metric at the outermost procedures with these names, in the JSON of a view."""
    sums, nodes = {}, list(roots)
    while nodes:
        node = nodes.pop()
        name = node["frame"]["name"]
        if name in names and node["frame"]["kind"] == "procedure":
            sums[name] = sums.get(name, 0) + node["values"].get(metric, 0)
        else:
            nodes.extend(node["children"])
    return sums
