// What a lane knows of the lines of its shards, so that it searches no index for the mail that it claims.
// Long because every kind of answer changes the same lines, and each of them knows when the others came.
import {
  BEFORE_ALL_LINES,
  type FoundLines,
  type InLine,
  type LineKey,
  type LinePlace,
  type ReadFrom,
} from '../../db/deliveries/lines.ts'
import { mailClasses } from '../../rules/mail/classes.ts'
import { cut, emptyLine, extend, insert, isBefore, justBefore, type Line, nameOf } from './line.ts'
import { LIMITS, type Limits, linesPerWorkspace, rowsPerRead } from './memoryLimits.ts'
import {
  addLine,
  emptyWorkspace,
  firstOf,
  removeLine,
  returnToTurn,
  type WorkspaceLines,
} from './workspaceLines.ts'

/**
 * A delivery comes into a line in two ways: it is accepted, and found by its id (`listArrivals`), or it becomes due, and the lane
 * itself makes it ready (`readyDue`). Both are told here, so that nobody searches the index for it: while a snapshot is held open, all
 * that was sent since stands there before what waits. What is too much to remember is read later, from the place where this memory ends.
 * A search through all lines (`listLines`) sets right whatever else may have happened.
 */
export class Lines {
  /** Of each class the workspaces that have lines, by name. Whose turn was last stands last. */
  readonly classes = mailClasses.map(() => new Map<string, WorkspaceLines>())
  /** The deliveries that are here, and in which line. */
  readonly #ids = new Map<number, Line>()
  /** Workspaces that have lines which are not here. Which was searched last stands last. */
  readonly #partial = new Set<WorkspaceLines>()
  /** The same. Whose lines were looked through last, for those that give up their places, stands last. */
  readonly #looked = new Set<WorkspaceLines>()
  #lineCount = 0
  readonly #limits: Limits

  constructor(limits: Limits = LIMITS) {
    this.#limits = limits
  }

  /** Learns of deliveries that the lane itself has put in line. */
  add(rows: readonly InLine[]): void {
    for (const row of rows) this.#add(row, 'told')
  }

  /** Learns of deliveries that were accepted, as a statement has found them: since then they may have been put in another line. */
  arrived(rows: readonly InLine[]): void {
    for (const row of rows) this.#add(row, 'found')
  }

  /** Learns the first delivery of lines that a search has found; what stands behind it is read again. */
  found(heads: readonly InLine[]): void {
    for (const head of heads) this.#addHead(head)
  }

  /** Deliveries that were to be claimed and were not are looked for again, where they stood. */
  reread(rows: readonly InLine[]): void {
    for (const row of rows) {
      const line = this.#lineOf(row)
      if (line) this.#cut(line, row)
    }
  }

  /** How many deliveries of a line are read at a time. */
  rowsPerRead(): number {
    return rowsPerRead(this.#limits, this.#lineCount)
  }

  /** Says that these are about to be read. @returns where from */
  ask(lines: readonly Line[]): ReadFrom[] {
    return lines.flatMap((line) => {
      const { class: classPlace, workspace_id, shard, destination, unread } = line
      line.told = null
      return unread ? { class: classPlace, workspace_id, shard, destination, unread } : []
    })
  }

  /** Learns what stands behind these places, of each line at most `each`. What somebody told of meanwhile may not be among it. */
  learnRead(
    asked: readonly ReadFrom[],
    found: readonly (readonly LinePlace[])[],
    each: number,
  ): void {
    for (const [i, from] of asked.entries()) {
      const rows = found[i] ?? []
      const workspace = this.classes[from.class]?.get(from.workspace_id)
      const line = workspace?.lines.get(nameOf(from))
      if (!workspace || !line?.unread) continue
      // Meanwhile it was asked from another place.
      if (isBefore(line.unread, from.unread) || isBefore(from.unread, line.unread)) continue
      for (const row of extend(line, rows, rows.length < each)) {
        if (this.#isIn(line, row.id, 'found')) continue
        line.rows.push(row)
        this.#ids.set(row.id, line)
      }
      if (line.rows.length > 0) returnToTurn(workspace, line)
      else if (!line.unread) this.#forget(line)
    }
  }

  /** Takes the first delivery of a line. */
  take(line: Line): InLine | undefined {
    const row = line.rows.shift()
    if (!row) return
    this.#ids.delete(row.id)
    const { class: classPlace, workspace_id, shard, destination } = line
    if (line.rows.length === 0 && !line.unread) this.#forget(line)
    return { class: classPlace, workspace_id, shard, destination, ...row }
  }

  /** Forgets a line. Whatever waits there a search finds, if its workspace has lines that are not here. */
  #forget(line: Line): void {
    for (const { id } of line.rows) this.#ids.delete(id)
    const workspace = this.classes[line.class]?.get(line.workspace_id)
    if (!workspace) return
    if (removeLine(workspace, nameOf(line))) this.#lineCount -= 1
    this.#tidy(workspace)
  }

  /**
   * Whether the workspace of a line has its share of lines. Then a search passes the others, and comes back to them when
   * there is room (`nextPartial`).
   */
  skipsFrom(line: LineKey): boolean {
    const workspace = this.classes[line.class]?.get(line.workspace_id)
    if (!workspace || workspace.lines.size < this.#share()) return false
    workspace.unsearched ??= line
    this.#notePartial(workspace)
    return true
  }

  /** Gives the places of lines to others of their workspace that are not here. */
  giveUp(workspace: WorkspaceLines, lines: readonly Line[]): void {
    for (const line of lines) this.#forget(line)
    workspace.hasRefused = true
  }

  /** Whether a workspace has room for lines that are not here. */
  hasPartial = (): boolean => this.#nextPartial() !== undefined

  /** Says that they are about to be searched for. @returns behind which line; undefined: there is no such workspace */
  askPartial(): LineKey | undefined {
    const workspace = this.#nextPartial()
    const after = workspace?.unsearched
    if (!workspace || !after) return
    // What is refused from now on this search may not see.
    if (after.shard === BEFORE_ALL_LINES.shard) workspace.hasRefused = false
    return after
  }

  #nextPartial(): WorkspaceLines | undefined {
    for (const workspace of this.#partial) {
      if (workspace.lines.size <= this.#share() / 2 && workspace.unsearched) return workspace
    }
    return
  }

  /** How many workspaces have lines that are not here. */
  partialCount(): number {
    return this.#partial.size
  }

  /** Workspaces with lines that are not here, those first whose lines were not looked through for longest. One that is taken goes to the end. */
  *toLookThrough(): Generator<WorkspaceLines> {
    for (const workspace of this.#looked) {
      yield workspace
      if (this.#looked.delete(workspace)) this.#looked.add(workspace)
    }
  }

  #notePartial(workspace: WorkspaceLines): void {
    this.#partial.add(workspace)
    this.#looked.add(workspace)
  }

  /** Learns what a search behind one of a workspace's lines has found. Its next one comes after those of others. */
  foundBehind(after: LineKey, { heads, next }: FoundLines): void {
    const workspace = this.#workspaceOf(after)
    if (!workspace) return
    if (this.#partial.delete(workspace)) this.#partial.add(workspace)
    const own = heads.filter(
      (one) => one.class === after.class && one.workspace_id === after.workspace_id,
    )
    let last = after
    for (const head of own) {
      if (!this.#addHead(head)) {
        workspace.unsearched = last
        return
      }
      last = head
    }
    // Lines of other lanes are not among the heads, so the place where it ended may be behind the workspace too.
    const isEnd = next?.class !== after.class || next.workspace_id !== after.workspace_id
    workspace.unsearched = !isEnd ? next : workspace.hasRefused ? firstOf(after) : null
    if (workspace.unsearched) return
    this.#partial.delete(workspace)
    this.#looked.delete(workspace)
    this.#tidy(workspace)
  }

  /** How many lines a workspace may have here in one class. */
  #share(): number {
    let workspaces = 0
    for (const { size } of this.classes) workspaces += size
    return linesPerWorkspace(this.#limits, workspaces)
  }

  #workspaceOf({ class: classPlace, workspace_id }: LineKey): WorkspaceLines | undefined {
    const workspaces = this.classes[classPlace]
    let workspace = workspaces?.get(workspace_id)
    if (workspaces && !workspace) {
      workspace = emptyWorkspace({ class: classPlace, workspace_id })
      workspaces.set(workspace_id, workspace)
    }
    return workspace
  }

  /** The line, which is made if it is new; undefined if its workspace has its share of lines: then it is searched for later. */
  #lineOf(key: LineKey): Line | undefined {
    const workspace = this.#workspaceOf(key)
    if (!workspace) return
    const name = nameOf(key)
    const known = workspace.lines.get(name)
    if (known) return known
    if (workspace.lines.size >= this.#share()) {
      workspace.unsearched ??= firstOf(key)
      workspace.hasRefused = true
      this.#notePartial(workspace)
      return
    }
    const line = emptyLine(key)
    addLine(workspace, name, line)
    this.#lineCount += 1
    return line
  }

  #cut(line: Line, place: LinePlace): void {
    for (const { id } of cut(line, place)) this.#ids.delete(id)
  }

  /**
   * Whether a delivery is in a line already. If it is in another one, it leaves that.
   * @param by `told`: the lane itself has put it here, so it stood there before. `found`: a statement has; it may be there since that began, so the other line is read again
   */
  #isIn(line: Line, id: number, by: 'told' | 'found'): boolean {
    const known = this.#ids.get(id)
    if (known === line) return true
    if (!known) return false
    const place = known.rows.find((row) => row.id === id)
    if (by === 'found' && place) this.#cut(known, place)
    known.rows = known.rows.filter((row) => row.id !== id)
    this.#ids.delete(id)
    if (known.rows.length === 0 && !known.unread) this.#forget(known)
    return false
  }

  #add({ at, id, ...key }: InLine, by: 'told' | 'found'): void {
    const line = this.#lineOf(key)
    if (!line || this.#isIn(line, id, by)) return
    const row = { at, id }
    const isBehind = line.unread !== null && isBefore(line.unread, row)
    if (isBehind || this.#ids.size >= this.#limits.rows) {
      this.#cut(line, row)
      return
    }
    insert(line, row)
    this.#remember(line, id)
    const beyond = line.rows[this.#limits.lineRows[0]]
    if (beyond) this.#cut(line, beyond)
  }

  /** Learns the first delivery of a line. @returns whether there is a place for the line */
  #addHead({ at, id, ...key }: InLine): boolean {
    const line = this.#lineOf(key)
    if (!line) return false
    const head = { at, id }
    this.#cut(line, head)
    // Something before it is still to be read; or there is no place for more, and it is read when its turn comes.
    if (line.unread && isBefore(line.unread, justBefore(head))) return true
    if (this.#ids.size >= this.#limits.rows || this.#isIn(line, id, 'found')) return true
    line.rows.push(head)
    this.#remember(line, id)
    line.unread = head
    return true
  }

  /** Notes in which line a delivery is; the first one of a line gives that its turn. */
  #remember(line: Line, id: number): void {
    this.#ids.set(id, line)
    if (line.rows.length > 1) return
    const workspace = this.classes[line.class]?.get(line.workspace_id)
    if (workspace) returnToTurn(workspace, line)
  }

  /** Forgets a workspace that has no lines. */
  #tidy(workspace: WorkspaceLines): void {
    if (workspace.lines.size > 0 || workspace.unsearched) return
    this.classes[workspace.class]?.delete(workspace.workspace_id)
  }
}
