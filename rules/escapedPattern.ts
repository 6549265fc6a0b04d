// A text as a part of a regular expression, of JavaScript or of Postgres.

/** Matches that text and nothing else. */
export const escapedPattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
