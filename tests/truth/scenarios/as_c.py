"""A program as C: `text_of(program)`."""

from program import Branch, Communication, Invoke, Loop, Work


class Writer:
    def __init__(self, program):
        self.program = program
        self.plans = []  # rows of milliseconds by rank
        self.lines = []
        self.left_to = {function.body[-1].function for function in program.functions if function.tail}

    def text(self):
        bodies = []
        for function in self.program.functions:
            self.lines = []
            self.function(function)
            bodies += self.lines
        return "\n".join([*self.head(), *bodies]) + "\n"

    def head(self):
        program = self.program
        causes = program.causes
        places = ", ".join(f'"{"/".join(cause.place)}"' for cause in causes) or "NULL"
        rows = ",\n  ".join("{" + ", ".join(f"{value:.6f}" for value in row) + "}" for row in self.plans)
        slower = next((cause for cause in causes if cause.kind == "slow"), None)
        lines = [
            f"/* Seed {program.seed}: {program.ranks} ranks. */",
            f'#include "scenario{"_threads" if program.threads else ""}.h"',
            f"static const int causes = {len(causes)};",
            f"static const char* const cause_places[] = {{{places}}};",
            f"static const double plan[][MOST_RANKS] = {{\n  {rows}\n}};",
        ]
        for number, cause in enumerate(causes):
            if cause.kind != "slow":
                row = ", ".join(f"{value:.6f}" for value in cause.extra)
                lines += [
                    f"static double extra_{number}(void) {{",
                    f"  static const double extra[MOST_RANKS] = {{{row}}};",
                    f"  return here->cause == {number} && {self.when(cause)} ? extra[rank] : 0;",
                    "}",
                ]
        if slower:
            lines.append(f"#define SLOWED(amount) (rank == {slower.ranks[0]} ? {slower.slower:.6f} * (amount) : 0)")
        return lines

    @staticmethod
    def when(cause):
        if cause.kind == "alternating":
            able = cause.ranks
            return "(" + " || ".join(
                f"(rank == {rank} && iteration % {len(able)} == {place})" for place, rank in enumerate(able)
            ) + ")"
        return f"iteration % {cause.every} == {cause.every - 1}"

    def function(self, function):
        name = function.name
        self.of = function
        self.extras = [
            number for number, cause in enumerate(self.program.causes) if cause.place and cause.place[-1] == name
        ]
        if name == "main":
            self.lines += ["int main(int argc, char** argv) {", f"  scenario_begin(argc, argv, {self.program.noise});"]
            self.lines += [f"  scenario_team({self.program.threads});"] if self.program.threads else []
            self.lines += ["  scenario_window();"] if self.program.window else []
            self.lines += ["  scenario_groups();"] if self.program.groups else []
            self.lines += ["  scenario_helper();"] if self.program.helper else []
            self.body(function.body, 1)
            self.lines += ["  scenario_helper_end();"] if self.program.helper else []
            self.lines += ["  scenario_window_free();"] if self.program.window else []
            self.lines += ["  return scenario_end();", "}"]
            return
        sort = "inline __attribute__((always_inline))" if function.inlined else "__attribute__((noinline))"
        argument = "int depth" if function.recursion else "void"
        self.lines += [f"static {sort} void {name}({argument}) {{", f'  static const char* const name = "{name}";', "  arrive(name);"]
        if function.tail:
            self.body(function.body[:-1], 1)
            self.lines += [f"  TAIL_CALL({self.call(function.body[-1])});", "}"]
            return
        self.body(function.body, 1)
        if function.recursion:
            self.lines.append(f"  if (depth > 0) {name}(depth - 1);")
        self.lines += ["  LEAVE_ALL();" if function in self.left_to else "  LEAVE();", "}"]

    @staticmethod
    def call(invoke):
        function = invoke.function
        return f"{function.name}({function.recursion if function.recursion else ''})"

    def body(self, statements, depth):
        indent = "  " * depth
        for statement in statements:
            if isinstance(statement, Work):
                self.work(statement, indent)
            elif isinstance(statement, Invoke):
                self.lines.append(f"{indent}{self.call(statement)};")
            elif isinstance(statement, Communication):
                self.lines.append(indent + statement.text)
            elif isinstance(statement, Loop):
                variable = f"i{depth}"
                counts = ", ++iteration" if statement.iterations else ""
                self.lines.append(f"{indent}for (int {variable} = 0; {variable} < {statement.times}; ++{variable}{counts}) {{")
                self.body(statement.body, depth + 1)
                self.lines.append(indent + "}")
            elif isinstance(statement, Branch):
                self.lines.append(f"{indent}if ({statement.test}) {{")
                self.body(statement.then, depth + 1)
                self.lines.append(indent + "} else {")
                self.body(statement.other, depth + 1)
                self.lines.append(indent + "}")

    def work(self, work, indent):
        plan, style = f"plan[{len(self.plans)}][rank]", work.style
        self.plans.append(work.milliseconds)
        extras = [(number, self.program.causes[number]) for number in self.extras]
        if work.team:
            self.region(work, plan, extras, indent)
        elif any(work.milliseconds):
            self.lines.append(f"{indent}WORK_{style}({plan});")
        for number, cause in enumerate(self.program.causes):
            if cause.kind == "slow":
                self.lines.append(f'{indent}EXTRA_{style}("cause-{number}", SLOWED({plan}));')
        for number, cause in extras:
            if not work.team or cause.kind == "serial":
                self.lines.append(f'{indent}EXTRA_{style}("cause-{number}", extra_{number}());')
        self.extras = []

    def region(self, work, plan, extras, indent):
        """A parallel region, whose causes are its threads'."""
        inner = indent + "  "
        divide = self.loop if work.team.iterations else self.parts
        extras = [(number, cause) for number, cause in extras if cause.kind != "serial"]
        self.lines += [f"{indent}REGION_BEGIN();", f"#pragma omp parallel num_threads({self.program.threads})", f"{indent}{{"]
        self.lines += [inner + line if line[0] != "#" else line for line in divide(work, plan, extras)]
        self.lines += [f"{inner}MEMBER_LEAVES();", f"{indent}}}", f"{indent}REGION_END();"]

    def parts(self, work, plan, extras):
        """Every thread does as much; then some of it under a lock."""
        style, locked = work.style, work.team.locked
        yield f"WORK_{style}({1 - locked:.6f} * {plan});"
        held = []
        for number, cause in extras:
            extra = f'EXTRA_{style}("cause-{number}", extra_{number}());'
            if cause.kind == "lock":
                held.append(extra)
            else:
                yield extra if cause.member is None else f"if (member == {cause.member}) {extra}"
        if locked:
            yield from ("LOCK();", "#pragma omp critical", "{", "  HOLD();")
            yield f"  WORK_{style}({locked / self.program.threads:.6f} * {plan});"
            yield from (f"  {extra}" for extra in held)
            yield from ("  RELEASE();", "}")

    def loop(self, work, plan, extras):
        """A cause makes each thread's iterations longer than those of the thread before."""
        iterations, threads = work.team.iterations, self.program.threads
        each = len(iterations) // threads
        more = [part // each / (threads - 1) / each for part in range(len(iterations))]
        row = ", ".join(f"{time:.6f}" for time in iterations)
        yield f"static const double parts[] = {{{row}}};"
        yield "#pragma omp for schedule(static)"
        yield f"for (int part = 0; part < {len(iterations)}; ++part) {{"
        yield f"  WORK_{work.style}({plan} * parts[part]);"
        for number, _ in extras:
            row = ", ".join(f"{time:.6f}" for time in more)
            yield f"  static const double more[] = {{{row}}};"
            yield f'  EXTRA_{work.style}("cause-{number}", extra_{number}() * more[part]);'
        yield "}"


def text_of(program):
    return Writer(program).text()
