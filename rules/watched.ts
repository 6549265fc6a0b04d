// The type of a function that watches work, for code that does not know what the work is for.

/**
 * Runs synchronous work (of an async function its part before the first `await`). Meanwhile it is written down what the
 * main thread works on, so that what ends the process can be told. It may be called inside itself.
 */
export type Watched = <T>(work: () => T) => T

/** Nobody watches. */
export const unwatched: Watched = (work) => work()
