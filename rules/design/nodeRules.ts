// One row for each node type: its handles, whether it waits, and how its data is checked.

import { isZero, parseDuration } from '../duration.ts'
import { isJsonObject, type JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import type { CheckAt } from './context.ts'
import { checkText, isGiven } from './fieldChecks.ts'
import {
  checkBranch,
  checkConditionNode,
  checkDelay,
  checkSendEmail,
  checkTrigger,
  checkUpdateContact,
  checkWaitForEvent,
} from './nodeChecks.ts'
import type { NodeType, Problem } from './types.ts'

export interface Handles {
  /** Must lead somewhere before the design may be activated. */
  required: string[]
  /** May lead nowhere: then the execution ends there, or goes on by `default` where the node says so. */
  optional: string[]
}

export interface NodeRule {
  handles(data: JsonObject): Handles
  /** True when time surely passes at this node, so that a loop through it is no runaway. */
  waits(data: JsonObject): boolean
  check(at: CheckAt): Problem[]
}

const only =
  (...required: string[]) =>
  (): Handles => ({ required, optional: [] })
const never = (): boolean => false

/** A note is in the graph for its reader only. */
export type DrawnType = NodeType | 'note'

export const nodeRules: Record<DrawnType, NodeRule> = {
  trigger: { handles: only('default'), waits: never, check: checkTrigger },
  send_email: {
    handles: () => ({ required: ['default'], optional: ['skipped', 'failed'] }),
    waits: never,
    check: checkSendEmail,
  },
  delay: {
    handles: only('default'),
    waits: (data) => !isNoTime(data['duration']) && data['ms'] !== 0,
    check: checkDelay,
  },
  wait_for_event: {
    handles: (data) =>
      isGiven(data['timeout'])
        ? { required: ['received', 'timeout'], optional: [] }
        : { required: ['received'], optional: ['timeout'] },
    // Looking back, a wait can find the same event again and again; with no time to wait, it never does wait.
    waits: (data) => !isGiven(data['lookback_ms']) && !isNoTime(data['timeout']),
    check: checkWaitForEvent,
  },
  condition: { handles: only('true', 'false'), waits: never, check: checkConditionNode },
  branch: {
    handles: (data) => ({ required: [...branchIds(data), 'else'], optional: [] }),
    waits: never,
    check: checkBranch,
  },
  update_contact: { handles: only('default'), waits: never, check: checkUpdateContact },
  exit: {
    handles: only(),
    waits: never,
    check: (at) => checkText(at, 'outcome', limits.nameCharsMax),
  },
  note: { handles: only(), waits: never, check: () => [] },
}

/** The row of a type; undefined for one that is not known. */
export function nodeRule(type: string): NodeRule | undefined {
  return Object.hasOwn(nodeRules, type) ? nodeRules[type as DrawnType] : undefined
}

function isNoTime(value: unknown): boolean {
  const duration = typeof value === 'string' ? parseDuration(value) : null
  return duration !== null && isZero(duration)
}

function branchIds(data: JsonObject): string[] {
  const branches = Array.isArray(data['branches']) ? data['branches'] : []
  const ids = branches.map((branch) => (isJsonObject(branch) ? branch['id'] : null))
  return [...new Set(ids.filter((id) => typeof id === 'string'))].filter((id) => id !== 'else')
}
