"""What a result rests on: commit, versions, device."""

import platform
import subprocess
import sys
from importlib import metadata

import relic
from relic import paths

PACKAGES = ("numpy", "pandas", "scikit-learn", "torch", "transformers", "captum", "papermill")


def stamp() -> dict:
    """What every record keeps of its making: commit, versions, device."""
    return {**commit(), "versions": versions(), "device": device()}


def commit() -> dict:
    """Commit and dirty flag of the source, or `unknown` outside a checkout."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!results")
        return {"commit": head, "dirty": bool(changed)}
    except (OSError, subprocess.SubprocessError):
        return {"commit": "unknown", "dirty": None}


def _git(*arguments: str) -> str:
    options = {"text": True, "timeout": 20, "stderr": subprocess.DEVNULL}
    return subprocess.check_output(["git", "-C", str(paths.ROOT), *arguments], **options).strip()


def versions() -> dict[str, str]:
    """Versions of Python, of this package and of what computes."""
    installed = {"python": platform.python_version(), "relic": relic.__version__}
    for package in PACKAGES:
        try:
            installed[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            installed[package] = "not installed"
    return installed


def device() -> str:
    """The device that classifiers train on. Looks for a GPU only if torch is in use."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return torch.cuda.get_device_name(0)
    return f"CPU ({platform.machine()})"
