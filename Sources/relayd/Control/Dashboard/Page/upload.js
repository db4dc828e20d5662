// Files as bulk data of PutFile: in pieces, each with its checksum, as those of relayctl send. Used by composer.

/** Bytes of one request. */
const PIECE = 512 << 10;
/** More than the memory card of a head unit holds. */
export const LARGEST = 256 << 20;

/** Bodies of send for a file: one, or as many as it has pieces. */
export async function pieces(body, file) {
  const isFile = body.rpc === 'PutFile';
  const all = [];
  for (let start = 0; start < file.size; start += isFile ? PIECE : file.size) {
    const data = new Uint8Array(await file.slice(start, isFile ? start + PIECE : file.size).arrayBuffer());
    const parameters = { ...body.parameters };
    if (isFile && file.size > PIECE) {
      parameters.offset ??= start;
      // Of the first piece the size of the whole file, of others their own.
      parameters.length ??= start === 0 ? file.size : data.length;
    }
    if (isFile) parameters.crc ??= crc(data);
    all.push({ ...body, parameters, bulk: base64(data) });
  }
  return all;
}

function base64(data) {
  let text = '';
  // As many arguments as every browser takes.
  for (let start = 0; start < data.length; start += 8192) text += String.fromCharCode(...data.subarray(start, start + 8192));
  return btoa(text);
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** CRC-32 as in IEEE 802.3. */
function crc(data) {
  let value = 0xffffffff;
  for (const byte of data) value = TABLE[(value ^ byte) & 255] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
