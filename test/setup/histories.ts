// Recorded Temporal histories: written beside the golden files, and replayed against the workflow functions of now.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { Worker, type WorkflowBundleOption } from '@temporalio/worker'
import type { Engine } from './engine.ts'

export const HISTORIES = fileURLToPath(new URL('../golden/histories/', import.meta.url))

/** Without the machine's name, which workers and their sticky queues carry, and without paths. */
function scrub(key: string, value: unknown): unknown {
  if (key === 'stackTrace') return ''
  return typeof value === 'string' && /^\d+@/.test(value) ? 'worker' : value
}

/** @throws DeterminismViolationError when the functions would decide otherwise than is recorded */
export function replay(workflowBundle: WorkflowBundleOption, history: string): Promise<void> {
  const options = { workflowBundle, replayName: 'golden' }
  return Worker.runReplayHistory(options, historyFromJSON(JSON.parse(history)))
}

/**
 * The history of an execution's run (its last one when absent) as JSON. With UPDATE_GOLDEN=1 it becomes the golden
 * history of that name, which has to exist otherwise.
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
