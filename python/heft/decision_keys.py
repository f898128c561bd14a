# SPDX-License-Identifier: Apache-2.0
"""Checks decisions that arrive through another program: the decider's signature, the audience and
the challenge (docs/operations.md, "For whom a decision is"). Needs python3-cryptography."""

from __future__ import annotations

import base64
import importlib
import json
import time
from typing import Any, Mapping

from heft import errors
from heft._record import Shown
from heft.service import Decision, Service

_TYPE = "heft-decision+jwt"


class DecisionKeys(Shown):
    """The public keys that check decisions: a JWKS (RFC 7517), which the decider serves at
    /v1/keys."""

    def __init__(self, jwks: Mapping[str, Any]) -> None:
        self._keys = {str(key["kid"]): dict(key) for key in jwks["keys"]}

    def to_dict(self) -> dict[str, Any]:
        """The ids of the keys, in a form for JSON."""
        return {"keys": sorted(self._keys)}

    def __repr__(self) -> str:
        return f"<heft.decision_keys.DecisionKeys {', '.join(sorted(self._keys))}>"

    @staticmethod
    def fetch(decider: Service) -> DecisionKeys:
        """Fetches the keys over a connection to the decider."""
        return DecisionKeys(json.loads(decider.ask("GET", "/v1/keys", accept="*/*")[1]))

    def check(self, jws: str, *, issuer: str, audience: str, challenge: str = "", claimed: str = "",
              leeway: int = 30) -> Decision:
        """Checks a JWS and returns its decision. One of these keys must have signed it, and issuer,
        audience and challenge must be the given ones. For a verification give the claimed identity;
        for a search leave it empty. leeway: seconds by which clocks may differ. DataLoss for text
        that is not a JWS or has a false signature, FailedPrecondition for the rest."""
        parts = jws.split(".")
        try:
            if len(parts) != 3:
                raise ValueError("a JWS has three parts")
            header, claims = json.loads(_decoded(parts[0])), json.loads(_decoded(parts[1]))
            if not isinstance(header, dict) or not isinstance(claims, dict):
                raise ValueError("header and claims must be JSON objects")
            signature = _decoded(parts[2])
        except (ValueError, RecursionError) as error:
            raise errors.DataLoss(f"this is not a signed decision: {error}") from error
        if header.get("typ") != _TYPE:
            raise errors.FailedPrecondition(
                f"this is signed, but not a decision: its typ is not {_TYPE}")
        key = self._keys.get(str(header.get("kid")))
        if key is None:
            raise errors.FailedPrecondition("signed with an unknown key: fetch the keys again")
        _check_signature(key, str(header.get("alg")), f"{parts[0]}.{parts[1]}".encode(), signature)
        now = time.time()
        wrong = [
            (claims.get("iss") != issuer, "from another issuer"),
            (claims.get("aud") != audience, "for another audience"),
            (claims.get("challenge", "") != challenge, "the answer to another challenge"),
            (float(claims.get("exp", 0)) + leeway < now, "expired"),
            (float(claims.get("iat", now)) - leeway > now, "from the future"),
            (bool(claimed) and claims.get("claimed") != claimed, "about another person"),
            (bool(claimed) != (claims.get("kind") == "verification"),
             "of another kind: give claimed for a verification only"),
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
    """Accepts only Ed25519 and P-256. The key selects the algorithm, not the JWS (RFC 8725,
    3.1)."""
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
        raise errors.DataLoss("the signature does not belong to this decision") from error
    raise errors.FailedPrecondition(
        f"signed with {algorithm}, but the key is for another algorithm")
