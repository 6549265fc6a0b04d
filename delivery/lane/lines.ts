// What a lane knows of the lines of its shards: in each the mail that waits first, and behind which place more may wait.
import {
  FIRST_LINE,
  type FoundLines,
  type InLine,
  type LineKey,
  type LinePlace,
  type ReadFrom,
} from '../../db/deliveries/lines.ts'
import { mailClasses } from '../../rules/mail/classes.ts'

/** How much a lane remembers. */
interface Limits {
  /** The most lines, of which a workspace has its share in each class; what is behind it is found later. */
  lines: number
  /** The most and the least that a share is. */
  share: readonly [number, number]
  /** The most deliveries of all lines. The others are read when those before them were taken. */
  rows: number
  /** The most of one line, and the least that is read of it at a time. */
  lineRows: readonly [number, number]
}

const LIMITS: Limits = { lines: 50_000, share: [1_000, 20], rows: 20_000, lineRows: [200, 4] }

/** The first deliveries of a line. */
export interface Line extends LineKey {
  /** In their order, all before `unread`. */
  rows: LinePlace[]
  /** Behind this place may be more that is not here; null: this is all. */
  unread: LinePlace | null
  /** Whether something behind that place was told of since it was last asked for. */
  isTold: boolean
}

/** The lines of one workspace in one class. Whose turn was last stands last. */
export interface WorkspaceLines {
  class: number
  workspace_id: string
  lines: Map<string, Line>
  /** Behind this line may be others that are not here; null: these are all. */
  unswept: LineKey | null
  /** Whether a line was refused since the search through its lines began at the first one. */
  isMissing: boolean
}

/** Where one delivery stands before another. */
const isBefore = (a: LinePlace, b: LinePlace) => a.at < b.at || (a.at === b.at && a.id < b.id)

/** Where a line stands among those of its workspace. */
const keyOf = ({ shard, destination }: LineKey) => `${shard} ${destination}`

const firstOf = ({ class: place, workspace_id }: Pick<LineKey, 'class' | 'workspace_id'>) => ({
  ...FIRST_LINE,
  class: place,
  workspace_id,
})

export type Lines = ReturnType<typeof createLines>

/**
 * A delivery comes into a line in two ways: it is accepted, and found by its id (`listArrivals`), or it becomes due, and the lane
 * itself makes it ready (`readyDue`). Both are told here, so that nobody searches the index for it: while a snapshot is held open, all
 * that was sent since stands there before what waits. What is too much to remember is read later, from the place where this memory ends.
 * A search through all lines (`listLines`) sets right whatever else may have happened.
 */
export function createLines(limits: Limits = LIMITS) {
  const [shareMax, shareMin] = limits.share
  const [lineRowsMax, lineRowsMin] = limits.lineRows
  const classes = mailClasses.map(() => new Map<string, WorkspaceLines>())
  /** The deliveries that are here. */
  const ids = new Set<number>()
  /** Workspaces that have lines which are not here. */
  const partial = new Set<WorkspaceLines>()
  let lineCount = 0

  const share = () => {
    let workspaces = 1
    for (const { size } of classes) workspaces += size
    return Math.max(shareMin, Math.min(shareMax, Math.floor(limits.lines / workspaces)))
  }

  function workspaceOf({ class: place, workspace_id }: LineKey): WorkspaceLines | undefined {
    const workspaces = classes[place]
    let workspace = workspaces?.get(workspace_id)
    if (workspaces && !workspace) {
      workspace = { class: place, workspace_id, lines: new Map(), unswept: null, isMissing: false }
      workspaces.set(workspace_id, workspace)
    }
    return workspace
  }

  /** The line, which is made if it is new; undefined if its workspace has its share of lines: then it is searched for later. */
  function lineOf(key: LineKey): Line | undefined {
    const workspace = workspaceOf(key)
    if (!workspace) return
    const name = keyOf(key)
    const known = workspace.lines.get(name)
    if (known) return known
    if (workspace.lines.size >= share()) {
      workspace.unswept ??= firstOf(key)
      workspace.isMissing = true
      partial.add(workspace)
      return
    }
    const { class: place, workspace_id, shard, destination } = key
    const is = { class: place, workspace_id, shard, destination }
    const line: Line = { ...is, rows: [], unread: null, isTold: false }
    workspace.lines.set(name, line)
    lineCount += 1
    return line
  }

  /** Forgets what stands at this place and behind it, which is read again. */
  function rereadFrom(line: Line, place: LinePlace): void {
    line.isTold = true
    if (line.unread && isBefore(line.unread, place)) return
    const kept = line.rows.findIndex((row) => !isBefore(row, place))
    for (const { id } of kept < 0 ? [] : line.rows.splice(kept)) ids.delete(id)
    line.unread = { at: place.at, id: place.id - 1 }
  }

  function add({ at, id, ...key }: InLine): void {
    if (ids.has(id)) return
    const line = lineOf(key)
    if (!line) return
    const row = { at, id }
    if (ids.size >= limits.rows || (line.unread && isBefore(line.unread, row))) {
      rereadFrom(line, row)
      return
    }
    const last = line.rows.at(-1)
    if (!last || isBefore(last, row)) line.rows.push(row)
    else
      line.rows.splice(
        line.rows.findIndex((one) => isBefore(row, one)),
        0,
        row,
      )
    ids.add(id)
    const beyond = line.rows[lineRowsMax]
    if (beyond) rereadFrom(line, beyond)
  }

  /** Learns the first delivery of a line. @returns whether there is a place for the line */
  function addHead({ at, id, ...key }: InLine): boolean {
    const line = lineOf(key)
    if (!line) return false
    const row = { at, id }
    rereadFrom(line, row)
    if (line.unread && isBefore(line.unread, { at, id: id - 1 })) return true
    line.rows.push(row)
    ids.add(id)
    line.unread = row
    return true
  }

  function tidy(workspace: WorkspaceLines): void {
    if (workspace.lines.size > 0 || workspace.unswept) return
    classes[workspace.class]?.delete(workspace.workspace_id)
  }

  function forget(workspace: WorkspaceLines, line: Line): void {
    for (const { id } of line.rows) ids.delete(id)
    if (workspace.lines.delete(keyOf(line))) lineCount -= 1
    tidy(workspace)
  }

  return {
    classes,
    /** Learns of deliveries that stand in line now. */
    add(rows: readonly InLine[]): void {
      for (const row of rows) add(row)
    },
    /** Learns the first delivery of lines that a search has found; what stands behind it is read again. */
    found(heads: readonly InLine[]): void {
      for (const head of heads) addHead(head)
    },
    /** Deliveries that were to be claimed and were not are looked for again, where they stood. */
    reread(rows: readonly InLine[]): void {
      for (const row of rows) {
        const line = lineOf(row)
        if (line) rereadFrom(line, row)
      }
    },
    /** How many deliveries of a line are read at a time. */
    each: () =>
      Math.max(
        lineRowsMin,
        Math.min(lineRowsMax, Math.floor(limits.rows / Math.max(1, lineCount))),
      ),
    /** Says that these are about to be read. @returns where from */
    ask: (lines: readonly Line[]): ReadFrom[] =>
      lines.flatMap((line) => {
        const { class: place, workspace_id, shard, destination, unread } = line
        line.isTold = false
        return unread ? { class: place, workspace_id, shard, destination, unread } : []
      }),
    /** Learns what stands behind these places, of each line at most `each`. What somebody told of meanwhile may not be among it. */
    read(asked: readonly ReadFrom[], found: readonly (readonly LinePlace[])[], each: number): void {
      for (const [i, from] of asked.entries()) {
        const rows = found[i] ?? []
        const line = classes[from.class]?.get(from.workspace_id)?.lines.get(keyOf(from))
        if (!line?.unread || line.isTold || isBefore(line.unread, from.unread)) continue
        if (isBefore(from.unread, line.unread)) continue
        line.unread = rows.length < each ? null : (rows.at(-1) ?? null)
        for (const row of rows) {
          if (ids.has(row.id)) continue
          line.rows.push(row)
          ids.add(row.id)
        }
        const workspace = classes[from.class]?.get(from.workspace_id)
        if (workspace && line.rows.length === 0 && !line.unread) forget(workspace, line)
      }
    },
    /** Takes the first delivery of a line. */
    take(workspace: WorkspaceLines, line: Line): InLine | undefined {
      const row = line.rows.shift()
      if (!row) return
      ids.delete(row.id)
      const { class: place, workspace_id, shard, destination } = line
      if (line.rows.length === 0 && !line.unread) forget(workspace, line)
      return { class: place, workspace_id, shard, destination, ...row }
    },
    forget,
    /** Whether the workspace of a line has its share of lines. */
    isFull: ({ class: place, workspace_id }: LineKey): boolean =>
      (classes[place]?.get(workspace_id)?.lines.size ?? 0) >= share(),
    /** A workspace that has room for lines which are not here, and behind which of its lines they are searched for. */
    nextPartial(): LineKey | undefined {
      for (const workspace of partial) {
        if (workspace.lines.size > share() / 2 || !workspace.unswept) continue
        if (workspace.unswept.shard < 0) workspace.isMissing = false
        return workspace.unswept
      }
      return
    },
    /** Learns what a search behind one of its lines has found. */
    foundBehind(after: LineKey, { heads, next }: FoundLines): void {
      const workspace = workspaceOf(after)
      if (!workspace) return
      const own = heads.filter(
        ({ class: place, workspace_id }) =>
          place === after.class && workspace_id === after.workspace_id,
      )
      let last = after
      for (const head of own) {
        if (!addHead(head)) {
          workspace.unswept = last
          return
        }
        last = head
      }
      const isEnd = next === null || own.length < heads.length
      workspace.unswept = !isEnd ? next : workspace.isMissing ? firstOf(after) : null
      if (workspace.unswept) return
      partial.delete(workspace)
      tidy(workspace)
    },
  }
}
