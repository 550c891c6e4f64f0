"""A picture with at most 256 colours: a third of the bytes. The browser that drew it counts them."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

COUNT = """async (picture) => {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height), counts = new Map();
  // First exactly, then what is rare by what is near: edges of letters have thousands of colours, areas a dozen.
  for (let at = 0; at < data.length; at += 4) {
    const key = data[at] << 16 | data[at + 1] << 8 | data[at + 2];
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const far = (one, key) => {
    const r = (one >> 16) - (key >> 16), g = (one >> 8 & 255) - (key >> 8 & 255), b = (one & 255) - (key & 255);
    return 2 * r * r + 4 * g * g + 3 * b * b;
  };
  // The commonest, then those of the others that are farthest from all of them: a small mark keeps its hue.
  const all = [...counts].sort((a, b) => b[1] - a[1]).map(([key]) => key);
  const palette = all.slice(0, 150), known = new Map();
  const rest = all.slice(150, 3000), least = rest.map((key) => Math.min(...palette.map((one) => far(one, key))));
  while (palette.length < 256 && rest.length) {
    const at = least.indexOf(Math.max(...least));
    if (least[at] === 0) break;
    palette.push(rest[at]);
    rest.forEach((key, place) => { least[place] = Math.min(least[place], far(rest[at], key)); });
  }
  palette.forEach((key, at) => known.set(key, at));
  const nearest = (key) => {
    let best = 0, nearby = Infinity;
    palette.forEach((one, at) => { if (far(one, key) < nearby) { nearby = far(one, key); best = at; } });
    known.set(key, best);
    return best;
  };
  let pixels = "";
  for (let at = 0; at < data.length; at += 4) {
    const key = data[at] << 16 | data[at + 1] << 8 | data[at + 2];
    pixels += String.fromCharCode(known.get(key) ?? nearest(key));
  }
  return { width: image.width, height: image.height, palette, pixels: btoa(pixels) };
}"""


def with_few_colours(page: Any, picture: bytes) -> bytes:
    """`page` is an empty one, which may read what is put into its address."""
    found = page.evaluate(COUNT, base64.b64encode(picture).decode())
    width, height, pixels = found["width"], found["height"], base64.b64decode(found["pixels"])
    rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, width * height, width))
    colours = b"".join(struct.pack(">I", one)[1:] for one in found["palette"])
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", colours), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_part(kind, data) for kind, data in parts)


def _part(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
