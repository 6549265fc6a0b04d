// How much of its thread a worker gives to composing large mail while other mail wants it.

/** An eighth: a mail of 39 MB, which takes some 3 s of work, then takes half a minute, and everybody's receipts do not. */
export const COMPOSING_PART = 1 / 8
