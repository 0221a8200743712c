"""A strict reader of the text that Prometheus scrapes, version 0.0.4."""
import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
NUMBER = r"[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf)"
SAMPLE = re.compile(rf"({NAME})(?:\{{((?:{LABEL})(?:,{LABEL})*)\}})? ({NUMBER})")
COMMENT = re.compile(rf"# (HELP|TYPE) ({NAME}) (.+)")
ESCAPES = {'\\"': '"', "\\\\": "\\", "\\n": "\n"}
TYPES = ("counter", "gauge", "histogram")
PARTS = ("_bucket", "_sum", "_count")


class Malformed(AssertionError):
    pass


def check(condition, why):
    if not condition:
        raise Malformed(why)


def parse_labels(text):
    labels = [(name, re.sub(r"\\.", lambda sign: ESCAPES[sign[0]], value))
              for name, value in re.findall(LABEL, text or "")]
    check(len(dict(labels)) == len(labels), f"a label stands twice: {text}")
    return frozenset(labels)


class Metrics:
    """What was scraped; reading anything that is not well-formed raises Malformed."""

    def __init__(self, text):
        check(text.endswith("\n"), "the last line has no end")
        self.types, self.helps, self.samples = {}, {}, {}
        self.finished, self.family = set(), None
        for line in text.split("\n")[:-1]:
            check(line and line.strip() == line, f"white space: {line!r}")
            if line.startswith("#"):
                self.read_comment(line)
            else:
                self.read_sample(line)
        for name, kind in self.types.items():
            check(name in self.helps, f"{name} has no help")
            if kind == "histogram":
                self.check_histogram(name)

    def read_comment(self, line):
        found = COMMENT.fullmatch(line)
        check(found, f"not a comment: {line!r}")
        kind, name, text = found.groups()
        if name != self.family:
            check(name not in self.finished, f"the lines of {name} do not stand together")
            self.finished.add(name)
            self.family = name
        into = self.helps if kind == "HELP" else self.types
        check(name not in into, f"a second {kind} of {name}")
        check(kind == "HELP" or text in TYPES, f"unknown type: {line!r}")
        check(not any(sample[0] == name for sample in self.samples), f"late: {line!r}")
        into[name] = text

    def read_sample(self, line):
        found = SAMPLE.fullmatch(line)
        check(found, f"not a sample: {line!r}")
        name, labels, value = found[1], parse_labels(found[2]), float(found[found.re.groups])
        check(self.family in self.types, f"no type before {line!r}")
        kind = self.types[self.family]
        names = [self.family + part for part in PARTS] if kind == "histogram" else [self.family]
        check(name in names, f"{line!r} among the lines of {self.family}")
        check((name, labels) not in self.samples, f"twice: {line!r}")
        check(kind == "gauge" or value >= 0, f"negative: {line!r}")
        self.samples[name, labels] = value

    def check_histogram(self, name):
        """The buckets of every set of labels rise, and the last one holds everything."""
        series = {}
        for (sample, labels), value in self.samples.items():
            if sample == name + "_bucket":
                bounds = [float(text) for label, text in labels if label == "le"]
                check(len(bounds) == 1, f"a bucket of {name} without its bound")
                rest = frozenset(label for label in labels if label[0] != "le")
                series.setdefault(rest, []).append((bounds[0], value))
        counted = {labels for sample, labels in self.samples if sample == name + "_count"}
        summed = {labels for sample, labels in self.samples if sample == name + "_sum"}
        check(counted == summed == set(series), f"{name}: not every series is whole")
        for labels, buckets in series.items():
            check(buckets == sorted(buckets), f"{name}: bounds out of order")
            counts = [count for _, count in buckets]
            check(counts == sorted(counts), f"{name}: counts fall")
            check(buckets[-1] == (math.inf, self.samples[name + "_count", labels]),
                  f"{name}: +Inf is not the count")

    def get(self, name, /, **labels):
        """The value of exactly these labels; None if there is none."""
        return self.samples.get((name, frozenset(labels.items())))

    def by(self, name, *wanted):
        """All values of a name, by the values of these labels."""
        return {tuple(dict(labels).get(label) for label in wanted): value
                for (sample, labels), value in self.samples.items() if sample == name}
