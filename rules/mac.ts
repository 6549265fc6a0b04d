// The type of a MAC function, for code that signs without knowing the key.

/** HMAC-SHA256 with the key of one purpose, truncated to `length_bytes`. */
export type Mac = (bytes: Buffer | string, length_bytes: number) => Buffer
