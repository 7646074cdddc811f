"""Writes small PDF files by hand."""

from __future__ import annotations

from collections.abc import Sequence


def pdf(*pages: Sequence[str], trailer: str = "") -> bytes:
    """Return a PDF whose pages hold these lines of text, in Helvetica; ``trailer`` is put into its trailer."""
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for index, lines in enumerate(pages):
        shown = "".join(f"({line}) Tj 0 -14 Td " for line in lines)
        content = f"BT /F1 12 Tf 72 720 Td {shown}ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * index} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    return _assembled(objects, trailer)


def _assembled(objects: Sequence[str], trailer: str) -> bytes:
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + end.encode("latin-1")
