// Renders templates in the threads of a child process: fair between workspaces, each within its time and memory, and
// without harm to this process whatever a template does.
import { limits, MEBIBYTE } from '../../../rules/limits.ts'
import { type RenderChild, startChild } from './child.ts'
import { FIRST_SLOTS, isSecondSlot, type Outcome, type RenderResult, toTask } from './messages.ts'
import { createAdmission, FairQueue, type Waiting } from './queue.ts'

/** What may wait or be under way of one workspace, and of all. */
const EACH_BYTES_MAX = 32 * MEBIBYTE
const ALL_MAX = { count: 2_000, bytes: 128 * MEBIBYTE }
const SWEEP_MS = 1_000
/** A child that ends again and again at its start is begun again at this pace. */
const RESTART_MS = 1_000
/** How long nothing is rendered for a workspace that left a thread in a call that nothing can stop, or ended the child. */
const PAUSE_MS = 10_000
/**
 * The child may end for reasons that are no template's fault: it is killed from outside, or the machine has no memory
 * left. A job is given up when the child has ended so often while nothing but this job was under way.
 */
const DEATHS_ALONE_MAX = 3

/**
 * What became of a job. `ended`: it ended the child, again and again. `busy`: it was not tried to the end. `starved`: neither was
 * it, since the machine gave it too little of its processor.
 */
export type PoolAnswer =
  | { kind: 'done'; result: RenderResult }
  | { kind: 'too_slow' | 'starved'; part: string }
  | { kind: 'out_of_memory' | 'failed' | 'ended' | 'busy' | 'too_large' }

/** Lines for the operator; no content and no addresses. */
export interface PoolLog {
  warn(facts: object, text: string): void
}

interface Job extends Waiting {
  id: number
  /** A `RenderJob` as JSON. */
  text: string
  slot: number
  limit_ms: number
  /** How often the child ended while it was under way: after the first time it is tried with nothing beside it. */
  deaths: number
  answer: (answer: PoolAnswer) => void
}

export interface PoolOptions {
  /** Renders of one workspace that may wait or be under way. */
  eachMax: number
  /** Is called when the child has ended by itself. */
  onChildEnd(): void
  /** How long a workspace waits after what nothing could stop; 10 s unless said. */
  pauseMs?: number
  /** Starts the child, unless it is given as `child.ts` does. */
  start?: typeof startChild
}

/** Makes a pool. Its child is started by the first job, or by `warm`. */
export function createPool(
  log: PoolLog,
  { eachMax, onChildEnd, pauseMs = PAUSE_MS, start: startOne = startChild }: PoolOptions,
) {
  const first = new FairQueue<Job>()
  const second = new FairQueue<Job>()
  const suspects = new FairQueue<Job>()
  const running = new Map<number, Job>()
  const admission = createAdmission({
    each: { count: eachMax, bytes: EACH_BYTES_MAX },
    all: ALL_MAX,
  })
  /** Workspaces whose renders wait. */
  const paused = new Set<string>()
  let child: RenderChild | null = null
  let isReady = false
  let isClosed = false
  let nextId = 1
  let restart: NodeJS.Timeout | undefined

  const sweep = setInterval(() => {
    const before = performance.now() - limits.renderWaitMsMax
    for (const queue of [first, second, suspects]) {
      for (const job of queue.takeOlder(before)) settle(job, { kind: 'busy' })
    }
  }, SWEEP_MS)
  sweep.unref()

  function settle(job: Job, answer: PoolAnswer): void {
    admission.leave(job)
    job.answer(answer)
  }

  function start(): void {
    if (child || isClosed || restart) return
    child = startOne({
      onReady() {
        isReady = true
        dispatch()
      },
      onOutcomes,
      onEnd,
    })
  }

  function pause(workspaceId: string): void {
    if (paused.has(workspaceId)) return
    paused.add(workspaceId)
    log.warn(
      { workspace_id: workspaceId, ms: pauseMs },
      'renders of a workspace wait: nothing could stop its last one, or it ended the child',
    )
    const resume = () => {
      paused.delete(workspaceId)
      dispatch()
    }
    setTimeout(resume, pauseMs).unref()
  }

  const mayRun = (workspaceId: string) => !paused.has(workspaceId)

  /** Sends what may run now. */
  function dispatch(): void {
    if (isClosed) return
    start()
    if (!child || !isReady) return
    const jobs = next()
    for (const job of jobs) running.set(job.id, job)
    if (jobs.length > 0) {
      child.send(jobs.map((job) => toTask(job, job.deaths > 0)))
    }
  }

  function next(): Job[] {
    if ([...running.values()].some(({ deaths }) => deaths > 0)) return []
    if (suspects.holds(mayRun)) {
      const job = running.size === 0 ? suspects.take(mayRun) : undefined
      return job ? [job] : []
    }
    const jobs: Job[] = []
    const slots = new Set([...running.values()].map(({ slot }) => slot))
    const working = new Set(
      [...running.values()].flatMap((job) => (isSecondSlot(job.slot) ? [] : job.workspaceId)),
    )
    for (let slot = 0; slot < FIRST_SLOTS; slot++) {
      if (slots.has(slot)) continue
      const job = first.take((workspaceId) => !working.has(workspaceId) && mayRun(workspaceId))
      if (!job) break
      working.add(job.workspaceId)
      jobs.push(Object.assign(job, { slot }))
    }
    const again = slots.has(FIRST_SLOTS) ? undefined : second.take(mayRun)
    return again ? [...jobs, again] : jobs
  }

  function onOutcomes(outcomes: Outcome[]): void {
    for (const outcome of outcomes) {
      const job = running.get(outcome.id)
      if (!job) continue
      running.delete(outcome.id)
      if ('isStuck' in outcome && outcome.isStuck) pause(job.workspaceId)
      if (outcome.kind !== 'done' && !isSecondSlot(job.slot)) {
        // A busy machine, or what earlier renders left in the thread's memory, is nobody's fault: once more, in a fresh
        // thread.
        const again = { slot: FIRST_SLOTS, limit_ms: limits.renderAgainMs }
        const queue = job.deaths > 0 ? suspects : second
        queue.add(Object.assign(job, again))
      } else settle(job, outcome)
    }
    dispatch()
  }

  function onEnd(facts: { code: number | null; signal: string | null }): void {
    const wasReady = isReady
    child = null
    isReady = false
    const jobs = [...running.values()]
    // Which templates they were is not written down; the workspaces say whom to ask.
    const workspaceIds = [...new Set(jobs.map(({ workspaceId }) => workspaceId))]
    const endedAloneBy = jobs.find(({ deaths }) => deaths > 0)?.workspaceId
    log.warn(
      {
        ...facts,
        under_way: jobs.length,
        workspace_ids: workspaceIds,
        ...(endedAloneBy && { ended_alone_by: endedAloneBy }),
      },
      'the process that renders templates has ended',
    )
    onChildEnd()
    running.clear()
    for (const job of jobs) {
      // What was tried has not waited: its time begins again.
      if (job.deaths > 0) job.since_ms = performance.now()
      job.deaths += 1
      // After a death alone the others have their turn first, so that a suspect keeps them waiting for one try only.
      if (job.deaths > 1) pause(job.workspaceId)
      if (job.deaths <= DEATHS_ALONE_MAX) suspects.add(job)
      else settle(job, { kind: 'ended' })
    }
    if (!wasReady && !isClosed) {
      restart = setTimeout(() => {
        restart = undefined
        dispatch()
      }, RESTART_MS)
    }
    dispatch()
  }

  return {
    /** Starts the child, so that the first job need not wait for it. */
    warm: start,
    /** The child's process id, while it runs. */
    pid: () => child?.pid,
    /** @param text a `RenderJob` as JSON */
    run(workspaceId: string, text: string): Promise<PoolAnswer> {
      return new Promise((answer) => {
        const waiting = { workspaceId, bytes: 2 * text.length, since_ms: performance.now() }
        if (waiting.bytes > EACH_BYTES_MAX) {
          answer({ kind: 'too_large' })
          return
        }
        if (isClosed || !admission.enter(waiting)) {
          answer({ kind: 'busy' })
          return
        }
        const tried = { slot: 0, limit_ms: limits.renderMs, deaths: 0 }
        first.add({ ...waiting, ...tried, id: nextId++, text, answer })
        dispatch()
      })
    },
    /** Ends the child. What waits or is under way is answered `busy`. */
    async close(): Promise<void> {
      isClosed = true
      clearInterval(sweep)
      clearTimeout(restart)
      const open = [...running.values()]
      for (const queue of [first, second, suspects]) open.push(...queue.takeOlder(Infinity))
      running.clear()
      for (const job of open) settle(job, { kind: 'busy' })
      await child?.close()
      child = null
    },
  }
}
