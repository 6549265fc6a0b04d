// How much a lane remembers of its lines.

/** How much a lane remembers. */
export interface Limits {
  /** The most lines, of which a workspace has its share in each class; what is behind it is found later. */
  lines: number
  /** The most and the least that a share is. */
  share: readonly [number, number]
  /** About the most deliveries of all lines. The others are read when those before them were taken. */
  rows: number
  /** The most of one line, and the least that is read of it at a time. */
  lineRows: readonly [number, number]
}

export const LIMITS: Limits = {
  lines: 50_000,
  share: [1_000, 20],
  rows: 20_000,
  lineRows: [200, 4],
}

/** How many lines a workspace may have in one class, where so many of both have some. */
export const linesPerWorkspace = ({ lines, share: [most, least] }: Limits, workspaces: number) =>
  Math.max(least, Math.min(most, Math.floor(lines / Math.max(1, workspaces))))

/** How many deliveries of a line are read at a time, while there are so many lines. */
export const rowsPerRead = ({ rows, lineRows: [most, least] }: Limits, lines: number) =>
  Math.max(least, Math.min(most, Math.floor(rows / Math.max(1, lines))))
