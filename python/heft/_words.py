# SPDX-License-Identifier: Apache-2.0
"""Replaces the names of commands and options in the library's messages by Python's."""

from __future__ import annotations

import re

# The Python call for each command; longer commands first.
_COMMANDS = [
    (r"`?heft-server pending`?, `?heft answer`?,? (?:and )?`?heft-server apply`?",
     "Matcher.pending, KeyOwner.approve, Matcher.activate"),
    (r"`?heft-server pending`?, `?heft answer`?", "Matcher.pending, KeyOwner.approve"),
    (r"`?heft calibrate --data(?: DATA)?`?", "Model.calibrate(data)"),
    (r"`?heft train --method (\w+)`?", r'Model.train(data, method="\1")'),
    (r"`?heft train --profile (\w+)`?", r'Model.train(data, profile="\1")'),
    (r"`?heft budget --restart REASON`?", "KeyOwner.restart_journal(reason)"),
    (r"`?heft budget --set (scores|rejections)=N`?", r"KeyOwner.set_budget(\1=N)"),
    (r"`?heft budget --set`?", "KeyOwner.set_budget"),
    (r"decisions go on \(without --scores\)", "decisions go on (KeyOwner.decide)"),
    (r"`?heft trust add --role ([\w-]+)`?", r'Trust.add("\1", name, key)'),
    (r"`?heft trust add --gallery`?", "Trust.pin"),
    (r"`?heft authorise --act (\w+)`?", r'SigningKey.authorise(act="\1")'),
    (r"`?heft encrypt --for identification`?", 'Client.encrypt(use="identification")'),
    (r"`?heft encrypt --for`?", "Client.encrypt(use=)"),
    (r"`?heft encrypt --average`?", "Client.encrypt(average=True)"),
    (r"`?heft encrypt --fuse client`?", "Client.encrypt_fused"),
    (r"`?heft encrypt --valid-for`?", "SigningKey.sign(life=)"),
    (r"`?heft encrypt --sign`?", "SigningKey.sign"),
    (r"`?heft decrypt or heft answer, with --owners`?", "KeyOwner.decide_part or approve_part"),
    (r"opens alone: heft decrypt\b", "opens alone: KeyOwner.decide"),
    (r"a smaller --threshold", "a smaller threshold="),
    (r"--receipts none", "without_receipts=True"),
    (r"--reject entry=ENTRY", "reject_entries=[ENTRY]"),
    (r"`?heft keygen --owners`?", "heft.make_shared_key_set"),
    (r"`?heft keygen --secret-key`?", "KeyOwner.write_public_keys"),
    (r"`?heft-server gallery stats --verify`?", "Gallery.verify"),
    (r"`?heft-server gallery compact`?", "Gallery.compact"),
    (r"`?heft-server gallery restore --accept-older`?", "Gallery.restore(accept_older=True)"),
    (r"`?heft-server gallery renew --compact`?", "Gallery.ask_renewal(compact=True)"),
    (r"`?heft-server gallery renew`?", "Gallery.ask_renewal"),
    (r"`?heft-server gallery remove`?", "Gallery.remove"),
    (r"`?heft-seal export parameters`?", "heft.export_seal_parameters"),
    (r"`?heft-server gallery (restore|snapshot)`?", r"Gallery.\1"),
    (r"`?heft-server gallery copy`?", "Gallery.import_gallery"),
    (r"`?heft-server pending and gallery stats --verify`?", "Matcher.pending and Gallery.verify"),
    (r"`?heft-server pending`?", "Matcher.pending"),
    (r"`?heft-server apply`?", "Gallery.rekey"),
    (r"`?heft answer --entry ENTRY`?", "KeyOwner.approve(entries=[ENTRY])"),
    (r"`?heft audit LOG`?", "heft.verify_audit_logs"),
    (r"`?heft audit --request`?", "Matcher.audit_reply"),
    (r"`?heft authorise`?", "SigningKey.authorise"),
    (r"`?heft (budget|rekey)\b`?", r"KeyOwner.\1"),
    (r"`?heft calibrate\b`?", "Model.calibrate"),
    (r"`?heft init\b`?", "Workspace.create"),
    (r"`?heft inspect\b`?", "heft.inspect"),
    (r"`?heft keygen (?:--)?join`?", "heft.join_key_set"),
    (r"`?heft train --folds`?", "Model.train_folds"),
    (r"`?heft train\b`?", "Model.train"),
    (r"`?heft trust (add|revoke)`?", r"Trust.\1"),
]

# Options of other names.
_OPTIONS = {
    "--all": "identify_all or verify_all",
    "--bulk": 'encoding="bulk"',
    "--from": "the snapshot",
    "--fuse": "encrypt_fused and partial encoding",
    "--part": "parts=",
    "--passphrase-file": "passphrase=",
    "--threshold": "score=",
}


def in_python(text: str) -> str:
    """A message with Python's calls and arguments instead of commands and options: --fpir becomes
    fpir=, --method none becomes method="none"."""
    text = re.sub(r'option "(\w+)" is (an? [a-z ]+): (?:set|add to) it with heft_options_\w+', r"\1= must be \2",
                  text)
    text = re.sub(r'option "(\w+)" is ', r"\1= is ", text)
    if "--" not in text and "heft" not in text:
        return text
    for command, call in _COMMANDS:
        text = re.sub(command, call, text)
    for option, words in _OPTIONS.items():
        text = re.sub(rf"(?<![\w-]){option}(?![\w-])", words, text)
    text = re.sub(r"(?<![\w-])--(method|recipe|profile|ring) (\w+)", r'\1="\2"', text)
    return re.sub(r"(?<![\w-])--([a-z][a-z-]*)", lambda found: found[1].replace("-", "_") + "=", text)
