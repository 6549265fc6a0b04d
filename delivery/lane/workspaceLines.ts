// The lines of one workspace in one class, in the memory of a lane.
import { BEFORE_ALL_LINES, type LineKey } from '../../db/deliveries/lines.ts'
import { LinkedQueue } from '../../runtime/linkedQueue.ts'
import type { Line } from './line.ts'

/** The lines of one workspace in one class. */
export interface WorkspaceLines {
  class: number
  workspace_id: string
  /** All of them, by name. Each stands in one of the three queues below too. */
  lines: Map<string, Line>
  /** Whose turn was last stands last. */
  turns: LinkedQueue<Line>
  /**
   * Whose turn has come while nothing of them was here. A claim looks at the first of them alone, as many as it may have read, and passes
   * those whose destination is full.
   */
  awaitingRead: LinkedQueue<Line>
  /** Of which something has come since. Their turn is before all others. */
  returned: LinkedQueue<Line>
  /** Behind this line may be others that are not here; null: these are all. */
  unsearched: LineKey | null
  /** Whether a line was refused or forgotten since the search through its lines began at the first one. */
  hasRefused: boolean
  /** When it was last looked whether lines of it give their places to others, ms. */
  fullLookAt: number
}

type WorkspaceKey = Pick<LineKey, 'class' | 'workspace_id'>

/** One that has no lines yet. */
export const emptyWorkspace = ({
  class: classPlace,
  workspace_id,
}: WorkspaceKey): WorkspaceLines => ({
  class: classPlace,
  workspace_id,
  lines: new Map(),
  turns: new LinkedQueue(),
  awaitingRead: new LinkedQueue(),
  returned: new LinkedQueue(),
  unsearched: null,
  hasRefused: false,
  fullLookAt: Number.NEGATIVE_INFINITY,
})

/** Adds a new line, whose turn is last. */
export function addLine(workspace: WorkspaceLines, name: string, line: Line): void {
  workspace.lines.set(name, line)
  workspace.turns.add(line)
}

/** @returns whether there was such a line */
export function removeLine({ lines }: WorkspaceLines, name: string): boolean {
  const line = lines.get(name)
  line?.queue?.delete(line)
  return lines.delete(name)
}

/** Gives a line its turn, of which something has come, if it waits to be read. */
export function returnToTurn({ awaitingRead, returned }: WorkspaceLines, line: Line): void {
  if (line.queue === awaitingRead) returned.add(line)
}

/** Before all lines of a workspace. */
export const firstOf = ({ class: classPlace, workspace_id }: WorkspaceKey) => ({
  ...BEFORE_ALL_LINES,
  class: classPlace,
  workspace_id,
})
