"""Filters for schemathesis, which knows nothing of their language: those of the table that all readers share."""

import json
import pathlib

import schemathesis
from hypothesis import strategies

TABLE = pathlib.Path(__file__).parents[1] / "Fixtures" / "filters.json"
CASES = json.loads(TABLE.read_text(encoding="utf-8"))["cases"]
schemathesis.openapi.format("relayd-filter", strategies.sampled_from([case["filter"] for case in CASES]))
