"""Where to compute, and the same numbers every time."""

import random

import numpy as np
import torch


def best_device() -> torch.device:
    """CUDA when it is there, the CPU otherwise."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def deterministic(seed: int) -> None:
    """Seed torch (and what libraries draw from) and ask for deterministic kernels.

    One thread: sums over several come out in another order, and a run's last bits with them. Sweeps use
    the cores by running several processes.
    """
    torch.set_num_threads(1)
    random.seed(seed)
    np.random.seed(seed)  # transformers draws from the global generator
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # a tenth of the time
    torch.backends.cudnn.benchmark = False


def autocast(device: torch.device, *, training: bool = False) -> torch.autocast:
    """Half precision on CUDA; on the CPU for training only, and where it multiplies bfloat16 itself.

    Elsewhere it is emulated, and slower than single precision.
    """
    half = device.type == "cuda" or (training and torch.cpu._is_avx512_bf16_supported())
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=half)
