// Text that becomes part of a header or of a name: what it may not hold.

/** True for text without line breaks (those of Unicode too) and other control characters. */
export const isOneLine = (text: string): boolean => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)

/**
 * True for text with marks that turn its direction around, so that `gpj.exe` could be shown as `exe.jpg`. Subjects may
 * hold them: right-to-left languages need them.
 */
export const turnsAround = (text: string): boolean => /[\u202a-\u202e\u2066-\u2069]/.test(text)
