"""Short ways to say a finding."""

from drumline.core.doctor_report import Finding, Severity


def ok(check: str, text: str) -> Finding:
    """All is as it should be."""
    return Finding(check=check, severity=Severity.OK, text=text)


def note(check: str, text: str, advice: str = "") -> Finding:
    """Worth knowing."""
    return Finding(check=check, severity=Severity.NOTE, text=text, advice=advice)


def warning(check: str, text: str, advice: str) -> Finding:
    """It will do harm if it stays."""
    return Finding(check=check, severity=Severity.WARNING, text=text, advice=advice)


def problem(check: str, text: str, advice: str) -> Finding:
    """It does harm, or loses what was promised."""
    return Finding(check=check, severity=Severity.PROBLEM, text=text, advice=advice)
