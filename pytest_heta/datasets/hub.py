"""Single files of data sets on the Hugging Face Hub."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_heta.errors import DownloadError

_TRUE = {"1", "ON", "YES", "TRUE"}


def fetch_hub_file(dataset: str, filename: str, *, download: bool = True) -> Path:
    """Return the path of one file of the data set ``owner/name``, downloaded unless the hub's cache has it.

    The token (``HF_TOKEN``), the address (``HF_ENDPOINT``), the cache (``HF_HOME``, ``HF_HUB_CACHE``) and offline mode
    (``HF_HUB_OFFLINE``) are those of huggingface_hub. With ``download`` False only the cache is looked at.

    Raises:
        DownloadError: where the file can be had neither from the cache nor from the hub; says what was tried.

    """
    from huggingface_hub import constants, hf_hub_download

    offline = not download or constants.HF_HUB_OFFLINE or os.environ.get("HF_HUB_OFFLINE", "").upper() in _TRUE
    endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
    try:
        found = hf_hub_download(
            dataset, filename, repo_type="dataset", endpoint=endpoint, local_files_only=bool(offline)
        )
    except Exception as error:  # its kind depends on the HTTP library that this version of the hub's client uses
        where = f"the cache {constants.HF_HUB_CACHE}"
        tried = where if offline else f"{endpoint}/datasets/{dataset} and {where}"
        hint = "offline mode is on" if offline else "see HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE"
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise DownloadError(f"cannot get {filename} of {dataset}: tried {tried} ({hint}): {reason[0]}") from error
    return Path(found)
