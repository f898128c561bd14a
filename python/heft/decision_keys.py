# SPDX-License-Identifier: Apache-2.0
"""Decisions that somebody else brings: whether the decider has signed them, for whom, and as the
answer to what (docs/operations.md, "For whom a decision is"). Needs python3-cryptography."""

from __future__ import annotations

import base64
import importlib
import json
import time
from typing import Any, Mapping

from heft import errors
from heft.service import Decision, Service

_TYPE = "heft-decision+jwt"


class DecisionKeys:
    """The keys that sign decisions: of a JWKS (RFC 7517), as the decider shows it at /v1/keys."""

    def __init__(self, jwks: Mapping[str, Any]) -> None:
        self._keys = {str(key["kid"]): dict(key) for key in jwks["keys"]}

    @staticmethod
    def fetch(decider: Service) -> DecisionKeys:
        """From a connection to the decider."""
        return DecisionKeys(json.loads(decider.ask("GET", "/v1/keys", accept="*/*")[1]))

    def check(self, jws: str, *, issuer: str, audience: str, challenge: str = "", claimed: str = "",
              leeway: int = 30) -> Decision:
        """The decision in a JWS, if one of these keys has signed it, and it is the issuer's, for this
        audience, in time, and answers this challenge; of a verification, if it is about claimed.
        DataLoss for what is no JWS or has another signature, FailedPrecondition for the rest."""
        parts = jws.split(".")
        try:
            if len(parts) != 3:
                raise ValueError("it has not three parts")
            header, claims = json.loads(_decoded(parts[0])), json.loads(_decoded(parts[1]))
            if not isinstance(header, dict) or not isinstance(claims, dict):
                raise ValueError("header and claims are JSON objects")
            signature = _decoded(parts[2])
        except (ValueError, RecursionError) as error:
            raise errors.DataLoss(f"no signed decision: {error}") from error
        if header.get("typ") != _TYPE:
            raise errors.FailedPrecondition("signed, but no decision: its typ is another")
        key = self._keys.get(str(header.get("kid")))
        if key is None:
            raise errors.FailedPrecondition("signed with a key that is not known: fetch the keys anew")
        _check_signature(key, str(header.get("alg")), f"{parts[0]}.{parts[1]}".encode(), signature)
        now = time.time()
        wrong = [
            (claims.get("iss") != issuer, "of another issuer"),
            (claims.get("aud") != audience, "for another audience"),
            (claims.get("challenge", "") != challenge, "the answer to another challenge"),
            (float(claims.get("exp", 0)) + leeway < now, "expired"),
            (float(claims.get("iat", now)) - leeway > now, "from the future"),
            (bool(claimed) and claims.get("claimed") != claimed, "about somebody else"),
            (bool(claimed) != (claims.get("kind") == "verification"), "of another question"),
        ]
        for is_wrong, why in wrong:
            if is_wrong:
                raise errors.FailedPrecondition(f"the decision is {why}")
        return Decision.of(claims, jws)


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _module(name: str) -> Any:
    try:
        return importlib.import_module(f"cryptography.hazmat.primitives.{name}")
    except ImportError as error:
        raise errors.Unavailable("checking decisions needs python3-cryptography") from error


def _check_signature(key: Mapping[str, Any], algorithm: str, text: bytes, signature: bytes) -> None:
    """Ed25519 and P-256 alone, as the key says and not as the JWS does (RFC 8725, 3.1)."""
    hashes = _module("hashes")
    invalid = importlib.import_module("cryptography.exceptions").InvalidSignature
    try:
        if key.get("crv") == "Ed25519" and algorithm == "EdDSA":
            ed25519 = _module("asymmetric.ed25519")
            ed25519.Ed25519PublicKey.from_public_bytes(_decoded(key["x"])).verify(signature, text)
            return
        if key.get("crv") == "P-256" and algorithm == "ES256" and len(signature) == 64:
            ec, utils = _module("asymmetric.ec"), _module("asymmetric.utils")
            point = ec.EllipticCurvePublicNumbers(
                int.from_bytes(_decoded(key["x"]), "big"), int.from_bytes(_decoded(key["y"]), "big"),
                ec.SECP256R1())
            der = utils.encode_dss_signature(int.from_bytes(signature[:32], "big"),
                                             int.from_bytes(signature[32:], "big"))
            point.public_key().verify(der, text, ec.ECDSA(hashes.SHA256()))
            return
    except invalid as error:
        raise errors.DataLoss("the signature is not that of this decision") from error
    raise errors.FailedPrecondition(f"signed by {algorithm}, which is not what the key is for")
