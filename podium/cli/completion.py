"""Scripts that complete commands, options and choices in a shell, made from the parser: `podium completion`.

They are in other languages, and no other command loads them.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from podium.cli.arguments import subcommands

_BASH = """\
_podium() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command=podium each
  for each in "${{COMP_WORDS[@]:1:$((COMP_CWORD-1))}}"; do
    case "$command $each" in
      {commands}) command="$command $each" ;;
    esac
  done
  COMPREPLY=()
  case "$command $before" in
{choices}
  esac
  case "$word:$command" in
{options}
{words}
  esac
}}
complete -o default -F _podium podium
"""
_FISH = """\
function __podium_command
  set -l command podium
  for each in (commandline -opc)[2..-1]
    contains -- "$command $each" {commands}; and set command "$command $each"
  end
  echo $command
end
"""


@dataclass(frozen=True, kw_only=True)
class _Place:
    """What may follow a command: words with their summaries, and its options, with their choices where they have any;
    None for an option without an argument."""

    command: str
    words: Mapping[str, str]
    options: Mapping[str, Sequence[str] | None]


def _places(
    parser: argparse.ArgumentParser, command: str = "podium", also: Mapping[str, str] | None = None
) -> Iterator[_Place]:
    """`also` are the second words of commands such as `judge calibrate`, where `judge` is one too."""
    inner = subcommands(parser)
    own = [each for each in parser._actions if each is not inner]
    verbs = {each.dest: each.help or "" for each in inner._choices_actions} if inner else {}
    words = {verb: summary for verb, summary in verbs.items() if " " not in verb}
    words |= {str(choice): "" for each in own if not each.option_strings for choice in each.choices or ()}
    options = {
        option: None if each.nargs == 0 else list(map(str, each.choices or ()))
        for each in own
        for option in each.option_strings
        if option.startswith("--")
    }
    yield _Place(command=command, words={**words, **(also or {})}, options=options)
    for verb in verbs:
        second = {each.partition(" ")[2]: text for each, text in verbs.items() if each.startswith(f"{verb} ")}
        assert inner is not None
        yield from _places(inner.choices[verb], f"{command} {verb}", second)


def bash_script(parser: argparse.ArgumentParser) -> str:
    places = list(_places(parser))

    def answer(words: Iterable[str]) -> str:
        return f'COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word"))'

    return _BASH.format(
        commands=" | ".join(f'"{place.command}"' for place in places[1:]),
        choices="\n".join(
            f'    "{place.command} {option}") {answer(words)}; return ;;'
            for place in places
            for option, words in place.options.items()
            if words is not None
        ),
        options="\n".join(f'    -*:"{place.command}") {answer(place.options)} ;;' for place in places),
        words="\n".join(f'    *:"{place.command}") {answer(place.words)} ;;' for place in places if place.words),
    )


def zsh_script(parser: argparse.ArgumentParser) -> str:
    """Zsh runs completions that were written for Bash."""
    return f"autoload -U +X compinit bashcompinit && compinit -u && bashcompinit\n{bash_script(parser)}"


def fish_script(parser: argparse.ArgumentParser) -> str:
    places = list(_places(parser))
    lines = [_FISH.format(commands=" ".join(quote(place.command) for place in places[1:]))]
    for place in places:
        here = f"complete -c podium -n {quote(f'test (__podium_command) = {quote(place.command)}')}"
        lines += [f"{here} -f -a {word} -d {quote(summary)}\n" for word, summary in place.words.items()]
        for option, choices in place.options.items():
            needs = "" if choices is None else f" -x -a {quote(' '.join(choices))}" if choices else " -r"
            lines.append(f"{here} -l {option.removeprefix('--')}{needs}\n")
    return "".join(lines)


SCRIPTS = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
