"""The section `prices`: what the tokens of a model cost, in dollars for a million of them."""

import math

import yaml

from ralphloop.config.document import Document
from ralphloop.config.table import PRICES, Setting, advice
from ralphloop.core.price import Price

KNOWN = Price.__struct_fields__
LARGEST = 1_000_000.0
LONGEST_NAME = 200
EXAMPLE = "for example {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75}"


def prices(document: Document, node: yaml.Node) -> list[Setting]:
    found = []
    for name, name_node, value in document.pairs(node, PRICES):
        key = f"{PRICES}.{name}"
        if not name.isprintable() or len(name) > LONGEST_NAME:
            raise document.complaint(name_node, key, "is not the name of a model", "write it as the agent names it")
        found.append(Setting(key, _price(document, key, value), document.place(name_node)))
    return found


def _price(document: Document, key: str, node: yaml.Node) -> Price:
    if not isinstance(node, yaml.MappingNode):
        raise document.complaint(node, key, "must be a section of prices", EXAMPLE)
    told: dict[str, float] = {}
    for name, name_node, value in document.pairs(node, key):
        if name not in KNOWN:
            known = tuple(f"{key}.{one}" for one in KNOWN)
            raise document.complaint(name_node, f"{key}.{name}", "is not known", advice(f"{key}.{name}", known))
        told[name] = _dollars(document, f"{key}.{name}", value)
    for name in ("input", "output"):
        if name not in told:
            raise document.complaint(node, key, f"has no {name}", EXAMPLE)
    # without a price of its own what passes the cache costs what other input costs
    return Price(**{"cache_read": told["input"], "cache_write": told["input"]} | told)


def _dollars(document: Document, key: str, node: yaml.Node) -> float:
    text = str(node.value).strip() if isinstance(node, yaml.ScalarNode) else ""
    try:
        dollars = float(text.removeprefix("$"))
    except ValueError:
        dollars = math.nan
    if not 0 <= dollars <= LARGEST:
        what = f'must be dollars for a million tokens, not "{text}"' if text else "must be one number"
        raise document.complaint(node, key, what, f"for example {key.rpartition('.')[2]}: 0.3")
    return dollars
