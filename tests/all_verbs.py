"""Every verb of the command line."""

from collections.abc import Iterator

import click

from lisax.cli import verbs


def all_verbs() -> Iterator[tuple[tuple[str, ...], verbs.Verb]]:
    """Yields every verb with its words: ("index", "documents"), ("verify",) …"""
    root = verbs.Root("lisax")
    context = click.Context(root)
    for name in verbs.NAMES:
        command = root.get_command(context, name)
        for verb in command.commands.values() if isinstance(command, verbs.VerbGroup) else [command]:
            yield ((name,) if verb is command else (name, verb.name)), verb
