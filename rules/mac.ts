// The shape of a MAC function, for what signs and must not know a key.

/** HMAC-SHA256 of bytes under the key of one purpose, cut to so many bytes. */
export type Mac = (bytes: Buffer | string, length_bytes: number) => Buffer
