"""Command lines that real shells complete, with the script that a program prints for them.

`env` must let a shell find the program by its name.
"""
import os
import pty
import select
import shutil
import subprocess
import tempfile

from waiting import PATIENCE, wait_until

BASH = """\
source <($1 completion bash)
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_$1
printf '%s\\n' "${COMPREPLY[@]}"
"""

# It says when it waits for keys, and what the line is when Ctrl-X is typed.
ZSH = """\
autoload -U compinit
tell() { print -r -- "$2" > $ZDOTDIR/$1.new && mv $ZDOTDIR/$1.new $ZDOTDIR/$1 }
zle-line-init() { tell ready yes }
show() { tell line "$BUFFER" }
zle -N zle-line-init
zle -N show
bindkey '^X' show
bindkey '^I' complete-word
"""


def run(command, env, cwd):
    done = subprocess.run(command, capture_output=True, env=env, cwd=cwd, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"{command}: {done}")
    return [line for line in done.stdout.decode().splitlines() if line]


def bash_offers(program, *words, env, cwd):
    """What bash offers for the last word."""
    return run(["bash", "--norc", "-c", BASH, "bash", program, *words], env, cwd)


def fish_offers(program, *words, env, cwd):
    """What fish offers for the last word; that of an option comes only if it begins with a dash."""
    line = " ".join([program, *words])
    told = run(["fish", "--no-config", "-c",
                f"{program} completion fish | source; complete -C \"$argv\"", line], env, cwd)
    return [line.partition("\t")[0] for line in told]


def zsh_line(program, *words, env, cwd, installed=False):
    """The line after a Tab. The script is sourced, or lies, installed, where zsh looks for it."""
    with tempfile.TemporaryDirectory(dir=cwd) as home:
        if installed:
            os.mkdir(f"{home}/functions")
            with open(f"{home}/functions/_{program}", "wb") as file:
                subprocess.run([program, "completion", "zsh"], stdout=file, env=env, check=True)
            load = f"fpath=({home}/functions $fpath); compinit -u -D\n"
        else:
            load = f"compinit -u -D; source <({program} completion zsh)\n"
        with open(f"{home}/.zshrc", "w", encoding="utf-8") as file:
            file.write(ZSH + load)
        return type_at_zsh(" ".join([program, *words]), home, {**env, "ZDOTDIR": home}, cwd)


def type_at_zsh(keys, home, env, cwd):
    master, slave = pty.openpty()
    shell = subprocess.Popen(["setsid", "--ctty", "zsh", "-d", "-i"], cwd=cwd, stdin=slave,
                             stdout=slave, stderr=slave, env={**env, "TERM": "dumb"})
    os.close(slave)
    shown = []
    try:
        wait_for(f"{home}/ready", master, shown)
        os.write(master, keys.encode() + b"\t\x18")
        wait_for(f"{home}/line", master, shown)
        with open(f"{home}/line", encoding="utf-8") as file:
            return file.read().rstrip("\n")
    finally:
        shell.kill()
        shell.wait()
        os.close(master)


def wait_for(path, master, shown):
    """Until the file is there. Whatever the shell shows is taken, or it would wait for that."""
    def is_there():
        if select.select([master], [], [], 0)[0]:
            shown.append(os.read(master, 65536))
        return os.path.exists(path)

    try:
        wait_until(is_there, path)
    except AssertionError as error:
        raise AssertionError(f"{error}: {b''.join(shown)}") from None


def missing(*names):
    """The first of these programs that is not installed."""
    return next((name for name in names if not shutil.which(name)), None)
