"""JUnit's XML, which most build servers show: one failed test case a finding."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from asyncguard.model import Finding
from asyncguard.render import FindingsReport, Screen
from asyncguard.render.lines import calls, place_of

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def findings(report: FindingsReport, screen: Screen) -> str:
    """Return a suite with a failed case for each finding, or a passed one if there is none."""
    total = str(len(report.findings))
    numbers = {"tests": total if report.findings else "1", "failures": total, "errors": "0"}
    root = Element("testsuites", {"name": "asyncguard", **numbers})
    suite = SubElement(root, "testsuite", {"name": "asyncguard", "skipped": "0", **numbers})
    for finding in report.findings:
        _add_case(suite, finding)
    if not report.findings:
        SubElement(suite, "testcase", classname="asyncguard", name="no findings")
    indent(root)
    text = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add_case(suite: Element, finding: Finding) -> None:
    where = _xml(place_of(finding).rstrip(":"))
    name = f"{finding.code} {where}"
    path = _xml(finding.path)
    place = {"file": path, "line": str(finding.line)}
    case = SubElement(suite, "testcase", {"classname": path, "name": name, **place})
    reached = [calls(finding)] if finding.reached_from else []
    parts = [where, finding.source.strip(), *reached, finding.advice]
    failure = SubElement(case, "failure", type=finding.code, message=_xml(finding.message))
    failure.text = _xml("\n".join(part for part in parts if part))


def _xml(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
