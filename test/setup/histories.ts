// Recorded Temporal histories: stores them as golden files and replays them with the current workflow functions.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { Worker, type WorkflowBundleOption } from '@temporalio/worker'
import type { Engine } from './engine.ts'

export const HISTORIES = fileURLToPath(new URL('../golden/histories/', import.meta.url))

/** Removes the machine's name, which is in names of workers and sticky queues, and paths. */
function scrub(key: string, value: unknown): unknown {
  if (key === 'stackTrace') return ''
  return typeof value === 'string' && /^\d+@/.test(value) ? 'worker' : value
}

/**
 * Replays a history. @throws DeterminismViolationError if the workflow functions decide differently from the
 * history
 */
export function replay(workflowBundle: WorkflowBundleOption, history: string): Promise<void> {
  const options = { workflowBundle, replayName: 'golden' }
  return Worker.runReplayHistory(options, historyFromJSON(JSON.parse(history)))
}

/**
 * The history of an execution's run (by default the last one) as JSON. With UPDATE_GOLDEN=1 it is written as the
 * golden history of that name; otherwise that file must exist.
 */
export async function record(engine: Engine, name: string, id: string, runId?: string) {
  const handle = engine.client.workflow.getHandle(id, runId)
  const text = historyToJSON(await handle.fetchHistory())
  const json = JSON.parse(text, scrub)
  const recorded = `${JSON.stringify(json, null, 1)}\n`
  const file = `${HISTORIES}${name}.json`
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(HISTORIES, { recursive: true })
    writeFileSync(file, recorded)
  }
  if (!existsSync(file)) throw new Error(`there is no golden history ${name}: UPDATE_GOLDEN=1`)
  return recorded
}

export const readHistory = (file: string) => readFileSync(HISTORIES + file, 'utf8')
