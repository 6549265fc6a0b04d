// The lines of one workspace in one class, in the memory of a lane.
import { BEFORE_ALL_LINES, type LineKey } from '../../db/deliveries/lines.ts'
import type { Line } from './line.ts'

/** The lines of one workspace in one class. Whose turn was last stands last. */
export interface WorkspaceLines {
  class: number
  workspace_id: string
  lines: Map<string, Line>
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
  unsearched: null,
  hasRefused: false,
  fullLookAt: Number.NEGATIVE_INFINITY,
})

/** Before all lines of a workspace. */
export const firstOf = ({ class: classPlace, workspace_id }: WorkspaceKey) => ({
  ...BEFORE_ALL_LINES,
  class: classPlace,
  workspace_id,
})
