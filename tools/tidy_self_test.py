#!/usr/bin/env python3
"""The test of tools/tidy: one violation of every rule is found at its line, and nothing else is."""
import datetime
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
SPDX = "// SPDX-License-Identifier: MIT\n"
HEADER = SPDX + "#pragma once\n"
BODY = "  f();\n"
WORD = "TO" + "DO"  # Spelled so that tidy does not find it in this file.

TODAY = datetime.date.today()
OLD = TODAY - datetime.timedelta(days=31)

# (path, text, [(line, rule)...])
VIOLATIONS = [
    ("tests/flaky.txt", f"# Why.\na {OLD} b\nc\nd {TODAY} REASON\n" + f"e {TODAY} f\n" * 3,
     [(2, "flaky"), (3, "flaky"), (4, "flaky"), (7, "flaky")]),
    ("src/codec/a.cc", SPDX + '#include "kv/keys.h"\n', [(2, "include")]),
    ("src/codec/b.cc", SPDX + "#include <sluice/kv.h>\n", [(2, "include")]),
    ("src/queue/c.cc", SPDX + '#include "runtime/pool.h"\n', [(2, "include")]),
    ("src/utils/d.cc", SPDX + '#include "base/check.h"\n', [(2, "include")]),
    ("include/sluice/clock.h", HEADER + '\n#include "base/fine.h"\n', [(4, "include")]),
    ("include/sluice/result.h", HEADER + "\n#include <sluice/kv.h>\n", [(4, "include")]),
    ("examples/e.cc", SPDX + '#include "base/fine.h"\n', [(2, "include")]),
    ("src/kv/f.cc", SPDX + "#include <lmdb.h>\n", [(2, "engine")]),
    ("tests/g.cc", SPDX + '#include "kv/lmdb/store.h"\n', [(2, "engine")]),
    ("src/kv/h.cc", SPDX + '#include "memory/store.h"\n', [(2, "engine")]),
    ("src/queue/i.cc", SPDX + "#include <boost/asio.hpp>\n", [(2, "engine")]),
    ("src/kv/long.cc", SPDX + "//\n" * 800, [(801, "size")]),
    ("tests/long_test.cc", SPDX + "//\n" * 1000, [(1001, "size")]),
    ("src/kv/function.cc", SPDX + "namespace a {\n\nint g(int x = {}) {\n" + BODY * 69 + "}\n\n"
     "struct S {\n  S() : a_{1}, b_(2) {\n" + ("  " + BODY) * 69 + "  }\n"
     "  int a_, b_;\n};\n\n}  // namespace a\n", [(4, "function"), (77, "function")]),
    ("src/kv/test_macro_test.cc", SPDX + "RC_GTEST_PROP(A, b, (int c)) {\n" + BODY * 69 + "}\n",
     [(2, "function")]),
    ("src/kv/width.cc", SPDX + "// http://" + "w" * 100 + "\n", [(2, "width")]),
    ("src/kv/clock.cc",
     SPDX + "auto a = std::chrono::steady_clock::now();\nauto b = time(nullptr);\n",
     [(2, "clock"), (3, "clock")]),
    ("tests/random.cc", SPDX + "std::mt19937_64 a;\nint b = rand();\n",
     [(2, "random"), (3, "random")]),
    ("bench/sleep.cc", SPDX + "int a = usleep(3);\nint b = (std::this_thread::sleep_for(a), 0);\n",
     [(2, "sleep"), (3, "sleep")]),
    ("src/kv/thread.cc", SPDX + "std::thread a;\nint b = (a.detach(), 0);\n",
     [(2, "thread"), (3, "thread")]),
    ("src/kv/tls.cc", SPDX + "alignas(8) thread_local int a;\nthread_local int b;\n", [(3, "tls")]),
    ("src/kv/namespace.cc", SPDX + "using namespace std;\n", [(2, "namespace")]),
    ("src/kv/unfinished.cc", SPDX + f"// {WORD}: later\n// {WORD}(needs #12): fine\n",
     [(2, "unfinished")]),
    ("tests/pace.py", "import time\nfrom time import sleep\na = datetime.now()\n"
     "b = now_ms() - begin\n", [(1, "pace"), (2, "pace"), (3, "pace"), (4, "pace")]),
    ("src/kv/pace_test.cc", SPDX + "auto a = system_clock().mono();\n"
     "const Clock& clock = system_clock();\nint b = poll(nullptr, 0, 1);\n"
     "auto c = test::mono_now() - begin;\n",
     [(2, "pace"), (3, "pace"), (4, "pace"), (5, "pace")]),
    ("src/net/testing.h", HEADER + "\n#include <sluice/clock.h>\n\n"
     "inline auto a = system_clock().wall();\n", [(6, "pace"), (6, "header")]),
    ("tests/limit_test.py", "from timed import seconds_of\n", [(1, "timed")]),
    ("tests/limit_test.cc", SPDX + '#include "tests/support/timed.h"\n', [(2, "timed")]),
    ("tests/reason_timed_test.py", "class A:\n    def test_a(self):\n        pass\n",
     [(2, "timed")]),
    ("tests/reason_timed_test.cc", SPDX + "// It is quick.\nTEST(A, b) {}\n", [(3, "timed")]),
    # Of these and the two above the last is one too many.
    ("tests/too_many_timed_test.py", "class A:\n" + "".join(
        f'    def test_{n}(self):\n        """Timed: so."""\n' for n in range(19)),
     [(38, "timed")]),
    ("src/kv/allow.cc", SPDX + "// tidy: allow clock\nauto a = time(0);\n",
     [(2, "allow"), (3, "clock")]),
    ("src/kv/unused.cc", SPDX + "// tidy: allow clock because reasons\nint a;\n", [(3, "allow")]),
    ("src/kv/pragma.h", SPDX, [(1, "pragma")]),
    ("src/kv/spdx.cc", "int a;\n", [(1, "spdx")]),
    ("src/kv/alone.h", HEADER + "\nstd::string text();\n", [(4, "header")]),
    # Two that share a public header, which is then precompiled for them.
    ("src/kv/shared.h", HEADER + "\n#include <sluice/kv.h>\n\nstd::string text();\n",
     [(6, "header")]),
    ("src/kv/sharing.h", HEADER + "\n#include <sluice/kv.h>\n\nint  number();\n", [(6, "format")]),
    ("src/kv/format.cc", SPDX + "int  a;\n", [(2, "format")]),
]

CLEAN = [
    ("include/sluice/kv.h", HEADER + "\n#include <sluice/clock.h>\n\n#include <string>\n"),
    ("include/sluice/clock.h", HEADER),
    ("include/sluice/random.h", HEADER + "\n#include <random>\n\ninline std::mt19937_64 engine;\n"),
    ("src/base/clock.cc", SPDX + "auto a = std::chrono::system_clock::now();\n"),
    ("src/kv/keys.h", HEADER + '\n#include "codec/tuple.h"\n'),
    ("src/codec/tuple.h", HEADER),
    ("tests/flaky.txt", "# Why.\n\n" + f"e {OLD + datetime.timedelta(1)} f g\n" * 5),
    ("src/kv/lmdb/store.h", HEADER),
    ("src/kv/lmdb/store.cc", SPDX + '#include "kv/lmdb/store.h"\n\n#include <lmdb.h>\n'),
    ("src/worker/slots.cc", SPDX + '#include "kv/keys.h"\n#include "runtime/pool.h"\n'),
    ("bench/bare.cc", SPDX + "#include <lmdb.h>\nauto a = std::chrono::steady_clock::now();\n"),
    ("examples/whole/main.cc", SPDX + '#include "kv/keys.h"\n#include "part.h"\n'),
    ("examples/whole/part.h", HEADER),
    ("apps/sluiced/main.cc", SPDX + '#include "server/routes.h"\n#include "tracker/swarm.h"\n'),
    # Words in comments and literals, a seam's own sleep, thread ids, separators: none is a call.
    ("src/kv/words.cc", SPDX + 'const char* a = "rand( {{{ std::thread";  // time(nullptr) {{{\n'
     'const char* b = R"x(usleep(1) ")" { )x";\nint c = 1\'000\'000;\nchar d = \'{\';\n'
     "int f = (clock.sleep_for(c), 0);\nstd::thread::id e;\nstd::jthread g;\n"),
    # The helpers, and what uses them as it may.
    ("tests/support/waiting.py", "import time\nnow = time.time()\n"),
    ("tests/support/timed.py", "import time\n"),
    ("tests/fine_timed_test.py", "from timed import seconds_of\n\n\nclass A:\n"
     '    def test_a(self):\n        """Timed: a reason."""\n'),
    ("tests/fine_timed_test.cc", SPDX + '#include "tests/support/timed.h"\n\n'
     "// Timed: a reason\n// of two lines.\nTEST(A, b) {}\n"),
    ("tests/fine.py", "timestamp = 1\nwaiting.timed = now_ms() - 1000 * hour.time\n"),
    ("src/kv/fine_test.cc", SPDX + "auto store = open({.clock = system_clock()});\n"
     "auto a = test::mono_now() - std::chrono::hours(1);\n"),
    ("src/kv/seam.cc", SPDX + "auto a = system_clock().mono();\n"),
    ("src/kv/allowed.cc", SPDX + "// tidy: allow clock because this measures the seam\n"
     "auto a = time(nullptr);\n"),
    # Functions at the limit, many short ones in a row, and a long table, which is no function.
    ("src/kv/seventy.cc", SPDX + "void g() {\n" + BODY * 68 + "}\n"),
    ("src/kv/many.cc", SPDX + "namespace a {\n\n"
     + "".join(f"struct S{n} {{\n  S{n}() : a_{{1}} {{ g(); }}\n  int a_;\n}};\n\n"
               for n in range(30))
     + "int table[] = {\n" + "    1,  //\n" * 80 + "};\n\n}  // namespace a\n"),
]


def tidy(files):
    """What tools/tidy says about a tree of these files: {(path, line, rule)}, and its process."""
    with tempfile.TemporaryDirectory(prefix="tidy-self-test-") as directory:
        root = Path(directory)
        shutil.copy(TOOLS.parent / ".clang-format", root)
        for path, text, *_ in files:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        done = subprocess.run([sys.executable, TOOLS / "tidy", "--root", root], text=True,
                              capture_output=True, check=False)
    findings = set()
    for line in done.stdout.splitlines()[:-1]:
        path, number, message = line.split(":", 2)
        findings.add((path, int(number), message.rsplit("[", 1)[1].rstrip("]")))
    return findings, done


def main():
    expected = {(path, line, rule) for path, _, places in VIOLATIONS for line, rule in places}
    helpers = [("src/base/fine.h", HEADER), ("src/kv/lmdb/store.h", HEADER),
               ("src/kv/memory/store.h", HEADER), ("include/sluice/kv.h", HEADER)]
    wrong = 0
    cases = (("violations", VIOLATIONS + helpers, expected), ("clean", CLEAN, set()))
    for name, files, wanted in cases:
        found, done = tidy(files)
        for finding in sorted(wanted - found):
            print(f"{name}: not reported: {finding}")
        for finding in sorted(found - wanted):
            print(f"{name}: reported wrongly: {finding}")
        if found != wanted or done.returncode != (1 if wanted else 0):
            print(done.stdout + done.stderr + f"exit code {done.returncode}")
            wrong += 1
    print(f"tidy self-test: {'failed' if wrong else 'ok'}, {len(expected)} violations tried")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
