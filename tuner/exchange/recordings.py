"""recordings.py - converts recorded spaces of other programs into the form that recording.c reads,
and trials of ours into the forms of other programs.

tune starts it with the recording on its standard input.  By hand, for a machine without Python:

    gzip -dc SPACE.json.gz | python3 recordings.py SPACE.json.gz > SPACE.recording

The first argument is the name for error sentences.  Two more arguments are the length and the name
of a file in T1, the input format of the autotuning community
(https://github.com/odgaard/TuningSchema), whose text stands before the recording's: the space is
T1's, the answers are the recording's.

T1 holds Python: conditions such as "KWG % ((MDIMC * NDIMC) / MDIMA) == 0", and lists of values such
as "[2**i for i in range(6)]".  Python evaluates them, but only expressions made of NODES, OPERATORS
and FUNCTIONS, whose numbers and lists are bounded: a stranger's text runs no other code.

With the arguments `--write FORM VERSION` standard input has a line of JSON for each trial
(export_space.c), and the output is a line with the number of rows, then the file: kt-cache, a cache
file of Kernel Tuner (schema 1.1.0), t4, T4 results 1.0.0, or t4-metadata, its second file, by
gemmtune VERSION.
"""

import array
import ast
import contextlib
import itertools
import json
import math
import operator
import re
import signal
import sys
import warnings

MOST_PARAMS = 64        # GT_MAX_PARAMS of kernel.h
MOST_VALUES = 256       # of a parameter
MOST_POINTS = 4000000   # GT_SPACE_LIMIT of space.h
MOST_TEXT = 10000       # characters of an expression
MOST_BITS = 1000        # of a whole number in an expression; a float has fewer
MOST_ELEMENTS = 100000  # of a range, and of times that a list is repeated
MOST_WORK = 1000000     # elements of all lists of one evaluation
FAILED_MS = 1e20        # early versions of Kernel Tuner wrote this as the time of a failure
NUMBERS = (int, float, bool)

# GT_STATUS_MAP of trial.h, and other tools' names for kinds of failure.  A point with an unlisted
# kind ran and failed.
OURS = ("ok compile_error compile_timeout compile_crash spills serialized launch_invalid fault "
        "timeout wrong oob_write nondeterministic slow device_lost killed").split()
KERNEL_TUNER = {"InvalidConfig": "launch_invalid", "CompilationFailedConfig": "compile_error"}
T4 = {"correct": "ok", "timeout": "timeout", "compile": "compile_error", "correctness": "wrong",
      "constraints": "launch_invalid"}
MILLISECONDS = {"seconds": 1e3, "milliseconds": 1, "miliseconds": 1, "microseconds": 1e-3,
                "nanoseconds": 1e-6}


class Refused(Exception):
    """An error sentence for the user."""


class TooMany(Refused):
    """There is more than a recording can have."""


@contextlib.contextmanager
def at(place):
    """Puts the place of a mistake before its sentence."""
    try:
        yield
    except Refused as error:
        raise type(error)(place + ": " + str(error))


# ---- the text ----

def first_of_each(pairs):
    members = dict(pairs)
    return members if len(members) == len(pairs) else dict(reversed(pairs))


# NaN and Infinity, which Python writes and JSON does not have, become empty texts and so no times.
DECODER = json.JSONDecoder(object_pairs_hook=first_of_each, parse_int=float,
                           parse_constant=lambda _: "", strict=False)
BLANKS = re.compile(r"[ \t\r\n]*")


class Text:
    """A JSON text of which one member at a time is decoded, because 100 000 points take ten times
    their text.  It may end between two members, as Kernel Tuner leaves it when it is stopped."""

    def __init__(self, text):
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0  # the mark that Windows' editors write

    def next(self):
        """The next character that is no blank; "" at the end."""
        self.at = BLANKS.match(self.text, self.at).end()
        return self.text[self.at:self.at + 1]

    def expect(self, characters, what):
        if not self.next():
            raise Refused("the text ends in the middle of an entry")
        if self.next() not in characters:
            near = self.text[self.at:self.at + 40].split("\n")[0]
            raise Refused('%s near "%s"' % (what, near))

    def value(self):
        self.next()
        try:
            value, self.at = DECODER.raw_decode(self.text, self.at)
            return value
        except json.JSONDecodeError as error:
            self.at = len(self.text) if error.msg.startswith("Unterminated") else error.pos
        except RecursionError:
            pass
        self.expect("", "malformed JSON")

    def members(self, braces):
        """The names of an object's members, or None for each element of a list; the caller takes
        the value."""
        is_object = braces == "{}"
        self.expect(braces[0], "an object is expected" if is_object else "a list is expected")
        self.at += 1
        while self.next() not in ("", braces[1]):
            key = None
            if is_object:
                self.expect('"', "a name is expected")
                key = self.value()
                self.expect(":", "a colon is missing")
                self.at += 1
            yield key
            if self.next():
                self.expect("," + braces[1], "a comma is missing")
            self.at += self.next() == ","
        self.at += 1


# ---- members that may be missing, or of another type ----

def get(value, key):
    return value.get(key) if isinstance(value, dict) else None


def text_of(value, key):
    found = get(value, key)
    return found if isinstance(found, str) else ""


def list_of(value, key):
    found = get(value, key)
    return found if isinstance(found, list) else []


def are_times(values):
    return set(map(type, values)) <= {float} and (
        not values or (0 < min(values) and max(values) < FAILED_MS))


def single(value):
    """The nearest number of 32 bits, which is what a recording holds."""
    return array.array("f", [value])[0]


def cost(value, *keys):
    """The sum of times or costs, as far as they are recorded."""
    return single(sum(single(value[key]) for key in keys if are_times([get(value, key)])))


# ---- parameters ----

def shortest(number):
    texts = ("%.*g" % (digits, number) for digits in (15, 16, 17))
    return next(text for text in texts if float(text) == number)


def word_of(value):
    """A value as it stands in a point: commas separate the values there, and a text that could be
    taken for something else is quoted."""
    if not isinstance(value, str):
        return shortest(value)
    if re.match(r"(?!(true|false|null)\Z)[A-Za-z_][A-Za-z0-9_.:/+-]*\Z", value):
        return value
    quoted = re.sub(r'(["\\])', r"\\\1", value)
    return '"%s"' % re.sub("[,\0-\x1f\x7f-\x9f]", lambda found: "\\u%04x" % ord(found[0]), quoted)


class Param:
    def __init__(self, name):
        self.name, self.values, self.place, self.truths = name, [], {}, False

    def add(self, value):
        """The index of a value, which is added if it is new."""
        if type(value) is float and value in self.place:
            return self.place[value]
        self.truths |= type(value) is bool
        if type(value) is not str and not (type(value) in NUMBERS and math.isfinite(value)):
            raise Refused("a value of parameter %s is neither a number nor a text" % self.name)
        if value not in self.place:
            if len(self.values) == MOST_VALUES:
                raise TooMany("parameter %s has more than %d values" % (self.name, MOST_VALUES))
            self.place[value] = len(self.values)
            self.values.append(value)
        return self.place[value]

    def described(self, launch, count):
        """The parameter for recording.c, with the first `count` values.  If they are not all whole
        numbers, they become 0, 1, 2... with words.  True and false equal 1 and 0."""
        if not self.values:
            raise Refused('parameter "%s" has no value' % self.name)
        whole = all(type(value) is not str and value == math.floor(value) and abs(value) <= 1e15
                    for value in self.values)
        described = {"name": self.name, "launch": self.name in launch}
        if self.truths and all(value in (0, 1) for value in self.values):
            described["words"] = ["false", "true"]
        elif not whole:
            described["words"] = [word_of(value) for value in self.values]
        values = map(int, self.values) if whole else range(len(self.values))
        described["values"] = list(values)[:count]
        return described


# ---- points ----

class Recording:
    """The points of a recording, by the indices of their values; each is a status, the time, four
    costs and the samples, in the recording's unit of time."""

    def __init__(self, params=None):
        self.points, self.costs, self.objective = {}, False, ""
        self.preset = params is not None  # T1's parameters; the recording's lists do not count
        self.listed = self.preset         # else only the entries tell the values
        self.params = params or []

    def add_param(self, name):
        if len(self.params) == MOST_PARAMS:
            raise TooMany("more than %d parameters" % MOST_PARAMS)
        if any(param.name == name for param in self.params):
            raise Refused('parameter "%.64s" is listed twice' % name)
        self.params.append(Param(name))

    def take_lists(self, top, cached):
        values = top.get("tune_params")
        if self.preset:
            names = {param.name for param in self.params}
            for name in values if isinstance(values, dict) else ():
                if name not in names and len(list_of(values, name)) > 1:
                    raise Refused('parameter "%.64s" varies in the recording and is not in the '
                                  "space" % name)
        elif "tune_params_keys" in top:
            self.listed = True
            for name in list_of(top, "tune_params_keys"):
                if not isinstance(name, str):
                    raise Refused("tune_params_keys must list names")
                self.add_param(name)
                for value in list_of(values, name):
                    self.params[-1].add(value)
        elif cached:
            raise Refused('"tune_params_keys" is missing beside "cache"')

    def take_objective(self, name):
        """Keeps the first objective of the recording's tuner that is not time."""
        if isinstance(name, str) and not re.match(r"time|runtime\Z", name, re.I):
            self.objective = self.objective or name

    def add(self, key, values, statuses, us, costs, samples):
        """Completes a point: derives what was not recorded, and refuses contradictions.  statuses:
        ours, if it is one, counts more than theirs."""
        for param in self.params:
            if param.name not in values:
                raise Refused('entry "%.128s" has no value for parameter %s' % (key, param.name))
        index = bytes([param.add(values[param.name]) for param in self.params])
        status = next(status for status in statuses if status in OURS)
        # A point that was given up as slow has the time of its first run.  Here this time counts
        # like any other: whoever searches the recording decides which points to give up.
        status = "ok" if status == "slow" and us > 0 else status
        if not are_times(samples):
            raise Refused('entry "%.128s": a sample is no time' % key)
        total = sum(samples)
        if status == "ok" and not us > 0:
            if not samples:
                raise Refused('entry "%.128s" has no time' % key)
            us = single(total / len(samples))
        elif status == "ok" and not samples:
            samples, total = [us], us
        self.costs |= max(costs[:3]) > 0
        costs[2] = costs[2] or single(total)
        # The results of a search name a point as often as the search asked for it.  The first
        # result that is ok counts, or without one the first result.
        before = self.points.get(index)
        if before is None or (before[0] != "ok" and status == "ok"):
            us = us if status == "ok" else 0
            self.points[index] = (status, us, costs, array.array("f", samples))

    def add_cached(self, key, entry):
        time, why = get(entry, "time"), get(entry, "__error__")
        theirs = why if isinstance(why, str) else time
        if isinstance(theirs, str):
            theirs = KERNEL_TUNER.get(theirs, "fault")
        else:
            failed = isinstance(time, float) and time >= FAILED_MS
            theirs = "launch_invalid" if failed else "ok"
        costs = [cost(entry, "compile_time"), cost(entry, "verification_time"),
                 cost(entry, "benchmark_time"), cost(entry, "framework_time", "strategy_time")]
        self.add(key, entry if isinstance(entry, dict) else {},
                 (get(entry, "gemmtune_status"), theirs), cost(entry, "time"), costs,
                 list_of(entry, "times"))

    def add_result(self, key, entry):
        values, times = get(entry, "configuration"), get(entry, "times")
        if not isinstance(values, dict) or not isinstance(get(entry, "invalidity"), str):
            raise Refused('%s lacks "configuration" or "invalidity"' % key)
        for name in () if self.params else values:  # the first entry lists all parameters
            self.add_param(name)
        for name in list_of(entry, "objectives"):
            self.take_objective(name)
        measured = {}
        for item in list_of(entry, "measurements"):
            measured.setdefault(text_of(item, "name"), get(item, "value"))
        # The schema and the tools disagree on the name of the compile time.
        costs = [cost(times, "compilation") or cost(times, "compilation_time"),
                 cost(times, "validation"), cost(times, "benchmark"),
                 cost(times, "framework", "search_algorithm")]
        theirs = T4.get(entry["invalidity"], "fault")
        self.add(key, values, (measured.get("gemmtune_status"), theirs), cost(measured, "time"),
                 costs, list_of(times, "runtimes"))

    def sort_values(self):
        """Sorts values that only the entries told, because close values should be neighbours."""
        moved = []
        for param in self.params:
            param.values.sort(key=lambda value: (isinstance(value, str), value))
            moved.append({param.place[value]: i for i, value in enumerate(param.values)})
        self.points = {bytes([move[i] for move, i in zip(moved, index)]): point
                       for index, point in self.points.items()}


def read_entries(text, recording, top, braces):
    recording.take_lists(top, braces == "{}")
    for place, key in enumerate(text.members(braces)):
        if key is None:
            recording.add_result("results[%d]" % place, text.value())
        else:
            recording.add_cached(key, text.value())


def read_recording(text, recording):
    """Reads a Kernel Tuner cache or T4 results, version 1.0.0; returns the members at the top.
    JSON's members have no order: entries that stand before their parameters are read last."""
    top, braces, later = {}, None, None
    for key in text.members("{}"):
        if key not in ("cache", "results"):
            top.setdefault(key, text.value())
            continue
        braces = "{}" if key == "cache" else "[]"
        if {"tune_params_keys", "tune_params"} <= set(top):
            read_entries(text, recording, top, braces)
        else:
            later = text.at
            for _ in text.members(braces):
                text.value()
    if text.next():
        text.expect("", "more text after the end")
    unit = text_of(top.get("metadata"), "timeunit") or "milliseconds"
    if unit not in MILLISECONDS:
        raise Refused('"timeunit" is "%.32s"; it must be seconds, milliseconds, microseconds or '
                      "nanoseconds" % unit)
    recording.ms = MILLISECONDS[unit]
    recording.take_objective(top.get("objective"))
    if later is not None:
        text.at = later
        read_entries(text, recording, top, braces)
    elif not braces:
        recording.take_lists(top, False)
    if not recording.points:
        raise Refused('no recorded point: neither a Kernel Tuner cache ("cache") nor T4 '
                      '("results")')
    if not recording.params:
        raise Refused("the points have no parameters")
    if not recording.listed:
        recording.sort_values()
    return top


# ---- T1's expressions ----

NODES = (ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Store, ast.List, ast.Tuple,
         ast.ListComp, ast.Starred, ast.comprehension, ast.IfExp, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp,
         ast.Not, ast.USub, ast.UAdd, ast.BinOp, ast.Call, ast.Compare, ast.Lt, ast.LtE, ast.Gt,
         ast.GtE, ast.Eq, ast.NotEq, ast.In, ast.NotIn)
LISTS = (list, tuple)
work = 0  # elements of all lists of this evaluation so far


def bounded(elements):
    global work
    work += len(elements)
    if work > MOST_WORK:
        raise Refused("a list that long is not meant")
    return elements


def checked(value):
    if type(value) not in NUMBERS or (type(value) is int and value.bit_length() > MOST_BITS):
        raise Refused("no number comes out")
    return value


def on_numbers(function):
    def call(*arguments):
        for argument in arguments:
            if type(argument) not in NUMBERS:
                kind = "text" if type(argument) is str else "list"
                raise Refused("a number is expected, not a " + kind)
        return checked(function(*arguments))
    return call


def power(x, y):
    if float not in (type(x), type(y)) and y * x.bit_length() > 2 * MOST_BITS:
        raise Refused("no number comes out")
    return x ** y


def add(x, y):
    if type(x) in LISTS and type(y) in LISTS:
        return bounded(x + y)
    return on_numbers(operator.add)(x, y)


def multiply(x, y):
    times, elements = (y, x) if type(x) in LISTS else (x, y)
    if type(elements) not in LISTS or type(times) in LISTS:
        return on_numbers(operator.mul)(x, y)
    if type(times) is not int or times > MOST_ELEMENTS:
        raise Refused("a list is repeated a whole number of times")
    bounded(range(times * len(elements)))
    return elements * times


def numbers_to(*arguments):
    numbers = range(*arguments)
    if numbers and abs(numbers[-1] - numbers[0]) // abs(numbers.step) >= MOST_ELEMENTS:
        raise Refused("a list that long is not meant")
    return numbers


FUNCTIONS = {"abs": on_numbers(abs), "int": on_numbers(int), "float": on_numbers(float),
             "round": on_numbers(round), "min": min, "max": max, "range": numbers_to,
             "list": lambda elements: list(bounded(elements)), "len": len,
             "tuple": lambda elements: tuple(bounded(elements)),
             "sorted": lambda elements: sorted(bounded(elements))}
OPERATORS = {ast.Add: add, ast.Sub: on_numbers(operator.sub), ast.Mult: multiply,
             ast.Div: on_numbers(operator.truediv), ast.FloorDiv: on_numbers(operator.floordiv),
             ast.Mod: on_numbers(operator.mod), ast.Pow: on_numbers(power)}
# What an expression calls, under names that no expression can have.
CALLED = {"__builtins__": {}, "each()": bounded,
          **{name + "()": function for name, function in FUNCTIONS.items()},
          **{kind.__name__ + "()": function for kind, function in OPERATORS.items()}}


class Bounded(ast.NodeTransformer):
    """Refuses what is not in NODES, and turns operators and calls into those of CALLED."""

    def __init__(self, text, names):
        self.text, self.names, self.variables, self.uses = text, names, [], set()

    def refuse(self, what, node):
        near = ast.get_source_segment(self.text, node) if hasattr(node, "lineno") else None
        raise Refused('%s at "%.40s"' % (what, near or type(node).__name__))

    def visit(self, node):
        if not isinstance(node, NODES):
            self.refuse("what is this", node)
        return super().visit(node)

    def call(self, name, arguments, node):
        function = ast.copy_location(ast.Name(name + "()", ast.Load()), node)
        arguments = [self.visit(argument) for argument in arguments]
        return ast.copy_location(ast.Call(function, arguments, []), node)

    def visit_Constant(self, node):
        if type(node.value) not in NUMBERS + (str,):
            self.refuse("what is this", node)
        if type(node.value) is not str:
            checked(node.value)
        return node

    def visit_Name(self, node):
        if type(node.ctx) is ast.Load and node.id not in self.variables:
            if node.id not in self.names:
                raise Refused('unknown name "%.64s"' % node.id)
            self.uses.add(node.id)
        return node

    def visit_ListComp(self, node):
        each = node.generators[0]
        if len(node.generators) > 1 or type(each.target) is not ast.Name:
            self.refuse("a list has one \"for NAME in\"", node)
        each.iter = self.call("each", [each.iter], node)
        self.variables.append(each.target.id)
        node.elt = self.visit(node.elt)
        each.ifs = [self.visit(condition) for condition in each.ifs]
        self.variables.pop()
        return node

    def visit_Starred(self, node):
        node.value = self.call("each", [node.value], node)
        return node

    def visit_BinOp(self, node):
        if type(node.op) not in OPERATORS:
            self.refuse("what is this", node)
        return self.call(type(node.op).__name__, [node.left, node.right], node)

    def visit_Call(self, node):
        if type(node.func) is not ast.Name or node.func.id not in FUNCTIONS or node.keywords:
            self.refuse("an unknown function", node)
        return self.call(node.func.id, node.args, node)


class Expression:
    """An expression of T1, to be called with the values of those of the names that it uses.
    Sentences of its mistakes quote it."""

    def __init__(self, text, names):
        self.text = text
        self.function = self.guard(self.compile, names)

    def guard(self, function, *arguments):
        global work
        work = 0
        try:
            return function(*arguments)
        except (RecursionError, MemoryError):
            what = "too deeply nested"
        except ZeroDivisionError:
            what = "a division by zero"
        except OverflowError:
            what = "no number comes out"
        except SyntaxError as error:
            near = (error.text or "")[max((error.offset or 1) - 1, 0):].strip()
            what = '%s at "%.40s"' % (error.msg, near)
        except Exception as error:
            what = str(error)
        raise Refused('"%.200s": %s' % (self.text, what))

    def compile(self, names):
        if len(self.text) > MOST_TEXT:
            raise Refused("the text is too long")
        visitor = Bounded(self.text.strip(), names)
        body = visitor.visit(ast.parse(visitor.text, mode="eval")).body
        self.names = [name for name in names if name in visitor.uses]
        tree = ast.parse("lambda %s: 0" % ", ".join(self.names), mode="eval")
        tree.body.body = body
        return eval(compile(tree, "T1", "eval"), dict(CALLED))

    def __call__(self, *values):
        return self.guard(self.function, *values)


# ---- T1 ----

def member(value, key, kind, required=True):
    found = get(value, key)
    if found is None and not required:
        return kind()
    if found is None:
        raise Refused('key "%s" is missing' % key)
    if not isinstance(found, kind):
        names = {str: "a string", list: "a list", dict: "an object"}
        raise Refused('"%s" must be %s' % (key, names[kind]))
    if found == "":
        raise Refused('"%s" is empty' % key)
    return found


class Space:
    """Parameters and conditions; T1's sources, arguments and sizes are for programs that run the
    kernel."""

    def __init__(self, text):
        top = Text(text).value()
        space = member(top, "ConfigurationSpace", dict)
        self.kernel = member(member(top, "KernelSpecification", dict), "KernelName", str)
        self.params, self.values, self.conditions = [], [], []
        for i, item in enumerate(member(space, "TuningParameters", list)):
            with at("TuningParameters[%d]" % i):
                self.add_param(item)
        if not self.params:
            raise Refused("TuningParameters is empty")
        for i, item in enumerate(member(space, "Conditions", list, False)):
            with at("Conditions[%d]" % i):
                self.add_condition(item)

    def add_param(self, item):
        param = Param(member(item, "Name", str))
        if len(self.params) == MOST_PARAMS:
            raise Refused("more than %d parameters" % MOST_PARAMS)
        if any(other.name == param.name for other in self.params):
            raise Refused('"%s" is there twice' % param.name)
        expression = Expression(member(item, "Values", str), [])
        values = expression()
        if not isinstance(values, (list, tuple, range)):
            raise Refused('"%.200s": a list is expected' % expression.text)
        for value in values:
            param.add(value)
        if not param.values:
            raise Refused("parameter %s has no value" % param.name)
        param.truths = False  # only a recording says that values are true and false
        self.params.append(param)
        self.values.append(list(param.values))
        self.conditions.append([])

    def add_condition(self, item):
        names = [param.name for param in self.params]
        condition = Expression(member(item, "Expression", str), names)
        uses = [names.index(name) for name in condition.names]
        self.conditions[max(uses, default=0)].append((condition, uses))  # the last one decides

    def walk(self, found):
        """Calls found with the indices of each valid point, in order."""
        index, point = bytearray(len(self.params)), [None] * len(self.params)

        def step(p):
            for place, value in enumerate(self.values[p]):
                index[p], point[p] = place, value
                for condition, uses in self.conditions[p]:
                    if not condition(*[point[use] for use in uses]):
                        break
                else:
                    if p + 1 < len(index):
                        step(p + 1)
                    else:
                        found(bytes(index))
        step(0)

    def select(self, recording):
        """Keeps only the recorded ones of the valid points, because the results of the others are
        not known.  Returns the number of valid points."""
        selected, count = {}, itertools.count()

        def found(index):
            if next(count) == MOST_POINTS:
                raise Refused("kernel %s has more than %d valid points"
                              % (self.kernel, MOST_POINTS))
            if index in recording.points:
                selected[index] = recording.points[index]

        self.walk(found)
        described = next(count)
        if not selected:
            what = "the recording has none of its points" if described else (
                "no point satisfies every condition")
            raise Refused("kernel %s: %s" % (self.kernel, what))
        recording.points = selected
        return described


# ---- the form that recording.c reads: a line of JSON for the space, and one for each point ----

def head(recording, top, space):
    ours = top.get("gemmtune")
    cc = get(ours, "cc")
    counts = map(len, space.values) if space else itertools.repeat(None)
    launch = [name for name in list_of(ours, "launch") if isinstance(name, str)]
    facts = {"kernel": text_of(top, "kernel_name"), "device": text_of(top, "device_name"),
             "problem": text_of(ours, "problem"), "objective": recording.objective,
             "cc": int(cc) if isinstance(cc, float) and cc in range(10000) else 0,
             "predicted": text_of(ours, "provenance") == "predicted", "costs": recording.costs,
             "params": [param.described(launch, count)
                        for param, count in zip(recording.params, counts)]}
    return {"gemmtune_recording": 1, **{key: value for key, value in facts.items() if value}}


def line(index, point, ms):
    status, us, costs, samples = point
    times = array.array("f", [time * ms * 1e3 for time in (us, *samples)])
    costs = array.array("f", [cost * ms for cost in costs])
    return ('{"point":%s,"status":"%s","us":%.9g,"compile_ms":%.9g,"prove_ms":%.9g,"time_ms":%.9g,'
            '"other_ms":%.9g,"samples":[%s]}'
            % (list(index), status, times[0], *costs,
               ",".join(["%.9g"] * len(samples)) % tuple(times[1:])))


def lines_of(path, text, t1, t1_path):
    """The lines of the recording; t1: None, or the text that describes the space."""
    space = None
    if t1 is not None:
        with at(t1_path):
            space = Space(t1)
    recording = Recording(space.params if space else None)
    with at(path):
        top = read_recording(Text(text), recording)
        facts = head(recording, top, space)
    if space:
        with at(t1_path):
            facts.update(described=space.select(recording), kernel=space.kernel)
    points = recording.points
    facts.update(points=len(points), samples=sum(len(point[3]) for point in points.values()))
    yield json.dumps(facts, ensure_ascii=False)
    for index, point in points.items():
        yield line(index, point, recording.ms)


# ---- our trials in the forms of other programs ----

# What Kernel Tuner and T4 call our statuses; where several share a name, "gemmtune_status" tells
# them apart.
FAILED_BUILD = ("CompilationFailedConfig", "compile")
INVALID = ("InvalidConfig", "constraints")
CRASHED = ("RuntimeFailedConfig", "runtime")
LATE = ("RuntimeFailedConfig", "timeout")
WRONG = ("RuntimeFailedConfig", "correctness")
THEIRS = {"ok": (None, "correct"), "compile_error": FAILED_BUILD, "compile_timeout": FAILED_BUILD,
          "compile_crash": FAILED_BUILD, "spills": INVALID, "serialized": INVALID,
          "launch_invalid": INVALID, "fault": CRASHED, "timeout": LATE, "wrong": WRONG,
          "oob_write": WRONG, "nondeterministic": WRONG, "slow": LATE,  # slow: without a time
          "device_lost": CRASHED, "killed": CRASHED}


class Json(str):
    """A text that is JSON already."""


def written(value):
    """A value as JSON without blanks; members that are None are left out."""
    if isinstance(value, Json):
        return value
    if isinstance(value, float):
        return "%.9g" % value
    if isinstance(value, list):
        return "[%s]" % ",".join(map(written, value))
    if isinstance(value, dict):
        return "{%s}" % ",".join(written(key) + ":" + written(member)
                                 for key, member in value.items() if member is not None)
    return json.dumps(value, ensure_ascii=False)


def file_of(members):
    """An object with a member a line."""
    return "{\n%s\n}\n" % ",\n".join(written(key) + ":" + written(value)
                                     for key, value in members.items())


def split_point(point):
    """The values of a point as JSON: numbers, true, false and quoted texts stay as they are, words
    get quotes."""
    values = {}
    for part in point.split(","):
        name, _, value = part.partition("=")
        stays = re.match(r'(-?\d+\.?\d*([eE][-+]?\d+)?|true|false|".*)\Z', value, re.S)
        values[name] = Json(value if stays else written(value))
    return values


def has_time(trial):
    """Whether other tuners should see a time of the trial: it is ok, or slow with a time."""
    return trial["us"] > 0 and trial["status"] in ("ok", "slow")


def costs_of(trial):
    """The milliseconds of compiling, proving and timing."""
    return [Json("%.6g" % trial[key]) for key in ("compile_ms", "prove_ms", "time_ms")]


def gflops(trial):
    return trial["flops"] / trial["us"] * 1e-3


def samples_of(trial):
    """The samples in milliseconds, or without samples the time."""
    return [us * 1e-3 for us in trial["samples"] or [trial["us"]] * has_time(trial)]


def launch_params(description):
    """The names of the launch parameters: points that differ only in them share a cubin.  A kernel
    without a description (a recording's) has none."""
    try:
        params = list_of(json.loads(description), "params")
    except ValueError:
        params = []
    return [param["name"] for param in params if get(param, "kind") == "launch"] or None


class Written:
    """The trials of one space: a kernel, a problem and a device."""

    def __init__(self, trials):
        first, self.trials = trials[0], trials
        for trial in trials:
            self.check(self.identity(first), self.identity(trial))
        self.points = [split_point(trial["point"]) for trial in trials]
        self.names = list(self.points[0])
        for trial, values in zip(trials, self.points):
            if list(values) != self.names or "" in (*values, *values.values(), trial["point"]):
                raise Refused('the point "%s" is not of the same parameters as the first'
                              % trial["point"])
        self.head = {
            "device_name": first["device"], "kernel_name": first["kernel"],
            "gemmtune": {"version": 1, "problem": first["problem"], "cc": first["cc"],
                         "provenance": first["provenance"], "l2": first["l2"],
                         "driver": first["driver"], "nvrtc": first["nvrtc"],
                         "signature": first["signature"],
                         "launch": launch_params(first["description"])}}

    @staticmethod
    def identity(trial):
        """All facts but the point: trials that differ in these belong to different spaces."""
        return ("kernel {kernel}, problem {problem}, {provenance} on {device} (driver {driver}, "
                "NVRTC {nvrtc}, {l2} L2)".format(**trial))

    @staticmethod
    def check(first, other):
        if first != other:
            raise TooMany("a file of this format holds one space, and there are more: %s; %s; "
                          "narrow them with --kernel, --problem, --arch or --measured"
                          % (first, other))

    def values(self, name):
        """The values of a parameter: ascending numbers before words."""
        def order(value):
            word = value[0] in '"tf'
            return word, 0 if word else float(value), value
        return sorted({point[name] for point in self.points}, key=order)

    def cached(self, trial, values):
        """An entry of Kernel Tuner's cache.  "time" is the median of the samples in milliseconds
        (Kernel Tuner writes their mean).  For a failure "time" and "__error__" are the name of its
        error class, with our status beside them."""
        timed = has_time(trial)
        compiling, proving, timing = costs_of(trial)
        failure = None if timed else THEIRS[trial["status"]][0]
        key = ",".join(value[1:-1] if value[0] == '"' else value for value in values.values())
        entry = {**values, "time": trial["us"] * 1e-3 if timed else failure, "__error__": failure,
                 "times": samples_of(trial) if timed else None,
                 "GFLOP/s": gflops(trial) if timed else None,
                 "gemmtune_status": trial["status"] if trial["status"] != "ok" else None,
                 "compile_time": compiling, "verification_time": proving, "benchmark_time": timing,
                 "strategy_time": 0, "framework_time": 0,
                 "timestamp": trial["date"]}
        return '"%s":%s' % (key, written(entry))

    def cache(self):
        entries = ",\n".join(map(self.cached, self.trials, self.points))
        return file_of({
            "schema_version": "1.1.0", **self.head,
            "problem_size": [self.trials[0][size] for size in "mnk"],
            "tune_params_keys": self.names,
            "tune_params": {name: self.values(name) for name in self.names},
            "objective": "time", "cache": Json("{\n%s\n}" % entries)})

    def result(self, trial, values):
        """A result of T4.  The schema and its tools disagree on a name ("compilation_time",
        "compilation"), so both names are written.  "invalidity" has six values; "gemmtune_status"
        among the measurements says which of our statuses it was."""
        timed = has_time(trial)
        compiling, proving, timing = costs_of(trial)
        measurements = [{"name": "gemmtune_status", "value": trial["status"], "unit": ""}]
        if timed:
            measurements[:0] = [
                {"name": "time", "value": trial["us"] * 1e-3, "unit": "ms"},
                {"name": "GFLOP/s", "value": gflops(trial), "unit": "GFLOP/s"}]
        times = {"compilation": compiling, "compilation_time": compiling,
                 "benchmark": timing, "validation": proving, "framework": 0,
                 "search_algorithm": 0, "runtimes": samples_of(trial)}
        return written({
            "timestamp": trial["date"], "configuration": values, "objectives": ["time"],
            "times": times, "invalidity": "correct" if timed else THEIRS[trial["status"]][1],
            "correctness": int(timed), "measurements": measurements})

    def results(self):
        entries = ",\n".join(map(self.result, self.trials, self.points))
        return file_of({"schema_version": "1.0.0", **self.head,
                        "metadata": {"timeunit": "milliseconds"},
                        "results": Json("[\n%s\n]" % entries)})


def metadata(trials, version):
    """T4's metadata file has the devices of the trials, as far as the database knows them; the rest
    of T4's metadata is optional.  Returns the number of devices, too."""
    def number(value):
        return "%d.%d" % (value // 1000, value % 1000 // 10) if value > 0 else ""

    devices = {(trial["device"], trial["uuid"]): written({
        "device_name": trial["device"], "uuid": trial["uuid"],
        "compute_capability": "%d.%d" % divmod(trial["cc"], 10),
        "cuda_driver": number(trial["driver"]), "nvrtc": number(trial["nvrtc"])})
        for trial in reversed(trials)}
    return len(devices), (
        '{"schema_version":"1.0.0",\n"metadata":{"hardware":{"hardware_description":[\n%s\n]},\n'
        '"environment":{"device_query":{},"requirements":["gemmtune %s"]}}}\n'
        % (",\n".join(reversed(list(devices.values()))), version))


def write_file(form, version, text):
    trials = [json.loads(line) for line in text.split("\n") if line]
    rows = len(trials)
    if form == "t4-metadata":
        rows, made = metadata(trials, version)
    else:
        made = Written(trials).cache() if form == "kt-cache" else Written(trials).results()
    yield written({"rows": rows})
    yield made[:-1]


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    warnings.simplefilter("ignore")  # of expressions that Python finds odd
    path, length, t1_path = (sys.argv[1:] + [None, None])[:3]
    writes = path == "--write"
    try:
        if sys.version_info < (3, 8):
            raise Refused(path + ": python3 is older than 3.8")
        read = sys.stdin.buffer.read
        t1 = read(int(length)).decode("utf-8", "surrogateescape") if length and not writes else None
        text = read().decode("utf-8", "surrogateescape")
        for made in (write_file(length, t1_path, text) if writes
                     else lines_of(path, text, t1, t1_path)):
            sys.stdout.buffer.write(made.encode("utf-8", "surrogateescape") + b"\n")
    except (Refused, UnicodeEncodeError, MemoryError) as error:
        sentence = str(error) if isinstance(error, Refused) else "%s: %s" % (path, error)
        print(json.dumps({"error": sentence, "range": type(error) is TooMany and (writes or not length)}))


if __name__ == "__main__":
    main()
