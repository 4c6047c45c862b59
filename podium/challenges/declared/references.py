"""Which file or table among the references holds which value of which case."""

from collections.abc import Iterator, Mapping, Sequence

from podium.challenges.declared.settings import DeclaredSettings
from podium.challenges.declared.tables import reference_rows
from podium.challenges.declared.value_settings import as_tuple
from podium.challenges.ground_truth import ReferenceProblem
from podium.pairing import Source, Template
from podium.readers.files import SafeFile


def sort_references(
    settings: DeclaredSettings, files: Sequence[SafeFile], problems: list[ReferenceProblem]
) -> Mapping[str, Mapping[str, Source]]:
    """The references of every case, by the name of the value; what is wrong is added to `problems`."""
    references: dict[str, dict[str, Source]] = {}
    known: set[SafeFile] = set()
    templates = {
        name: [Template(each) for each in as_tuple(value.reference)] for name, value in settings.values.items()
    }
    for file in files:
        for name, case in _values_in(file, templates):
            known.add(file)
            if name in references.setdefault(case, {}):
                what = f"A case has two references for the value '{name}'."
                problems.append(ReferenceProblem(what=what, where=f"references/{file.name}"))
            references[case].setdefault(name, file)
    for file, names in _reference_tables(settings, files).items():
        known.add(file)
        for case, entry in reference_rows(file, [settings.values[name] for name in names], problems):
            references.setdefault(case, {}).update(dict.fromkeys(names, entry))
    values = settings.values.values()
    expected = [str(Template(each)) for value in values for each in as_tuple(value.reference)]
    expected += [value.reference_table for value in values if value.reference_table is not None]
    named = " or ".join(dict.fromkeys(expected))
    for file in files:
        if file not in known:
            what = f"A reference is not named {named}."
            problems.append(ReferenceProblem(what=what, where=f"references/{file.name}"))
    for case, sources in references.items():
        for name in settings.values:
            if name not in sources:
                what = f"A case has no reference for the value '{name}'."
                problems.append(ReferenceProblem(what=what, where=case))
    # In the order of the settings, whatever the files are called: their digest depends on it.
    return {
        case: {name: found[name] for name in settings.values if name in found} for case, found in references.items()
    }


def _values_in(file: SafeFile, templates: Mapping[str, Sequence[Template]]) -> Iterator[tuple[str, str]]:
    """The values whose reference a file is, each with its case. Of one value the first name that fits counts, of
    several values the longest: `{case}_tumour.mha` is the tumour of a case, not the case `{case}.mha` of another
    value.

    Names fit ends of paths, since predictions may lie deeper, but references lie where the settings say."""
    fitting: list[tuple[int, str, str]] = []
    for name, choices in templates.items():
        for template in choices:
            found = template.match(file.name) if template.text.count("/") == file.name.count("/") else None
            if found is not None:
                fitting.append((len(template.text), name, found[0]))
                break
    longest = max((length for length, _, _ in fitting), default=0)
    yield from ((name, case) for length, name, case in fitting if length == longest)


def _reference_tables(settings: DeclaredSettings, files: Sequence[SafeFile]) -> Mapping[SafeFile, Sequence[str]]:
    """The tables among the references, with the values that stand in them."""
    found: dict[SafeFile, list[str]] = {}
    for name, value in settings.values.items():
        for file in files:
            if value.reference_table is not None and file.name == value.reference_table:
                found.setdefault(file, []).append(name)
    return found


def _fitting(names: Sequence[str], file: SafeFile) -> Sequence[Template]:
    templates = [Template(name) for name in names if name.count("/") == file.name.count("/")]
    return [template for template in templates if template.match(file.name) is not None]
