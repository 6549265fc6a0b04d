// What a process is working on, as it stands in its state file: lines of a fixed length, written over each other.
import type { SuspectKind } from '../../rules/wire.ts'

/** One piece of synchronous work. It holds ids only. */
export interface Mark {
  kind: SuspectKind
  /** For a segment the id of its execution. */
  id: string
  /** For a segment the node that was entered last; '' before the first. */
  step: string
  /** Whether it is a suspect, and nothing else of its kind runs in the process. */
  alone: boolean
}

/** Long enough for every mark: an id and the id of a node. */
export const LINE_BYTES = 512

/** The line of a mark; null: the process works on nothing that could be blamed. */
export function toLine(content: object | null): Buffer {
  const line = Buffer.alloc(LINE_BYTES)
  fillLine(line, content)
  return line
}

/** Makes a line that stands in these bytes. */
export function fillLine(line: Buffer, content: object | null): void {
  const written = line.write(JSON.stringify(content))
  if (written >= LINE_BYTES) throw new Error('a line of a state file is too long')
  line.fill(' ', written, LINE_BYTES - 1)
  line[LINE_BYTES - 1] = 0x0a
}

/** Reads a line; null if it holds nothing, or was not written to its end. */
export function fromLine<T extends object>(line: Buffer): T | null {
  try {
    return JSON.parse(line.toString('utf8')) as T | null
  } catch {
    return null
  }
}
