// Types of console.mjs.
export interface Part {
  /** Prints a line that stays. */
  say(text: string): void
  /** Says how far this part is; takes the place of what it said before. */
  progress(text: string): void
  /** What was going on is over. */
  done(): void
}

export interface Console {
  part(name: string): Part
  write(text: string): void
}

export function createConsole(
  out?: { write(text: string): unknown; isTTY?: boolean; columns?: number },
  now_ms?: () => number,
): Console

export function showing<T>(
  part: Part,
  describe: (seconds: number) => string,
  work: Promise<T>,
): Promise<T>
