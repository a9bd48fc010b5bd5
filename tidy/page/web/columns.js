// Unpacks columns of integers; tidy/page/columns.py packs them.

export const CAN_UNPACK = typeof DecompressionStream !== "undefined";

async function bytesOf(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The columns by name, each a Float64Array: numbers below 2**53 are exact.
export async function unpack({ count, columns, data }) {
  const bytes = await bytesOf(data);
  const found = {};
  let at = 0;
  for (const { name, width, delta } of columns) {
    const values = new Float64Array(count);
    for (let plane = 0, size = 1; plane < width; plane++, size *= 256) {
      for (let row = 0; row < count; row++) values[row] += size * bytes[at++];
    }
    let before = 0;
    for (let row = 0; row < count; row++) {
      const value = values[row];
      const signed = value % 2 ? -(value + 1) / 2 : value / 2;
      before = delta ? before + signed : signed;
      values[row] = before;
    }
    found[name] = values;
  }
  return found;
}
