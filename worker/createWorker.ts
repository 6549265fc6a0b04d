// Makes the Temporal workers of this process: for executions and their calls, and for delivery lanes, as its roles say.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  bundleWorkflowCode,
  type Logger,
  type NativeConnection,
  Worker,
  type WorkflowBundleOption,
} from '@temporalio/worker'
import type { Activities } from '../activities/index.ts'
import { limits } from '../rules/limits.ts'
import { taskQueues } from '../rules/wire.ts'
import type { Config } from '../runtime/config.ts'

const queueOfRole = { executions: taskQueues.executions, delivery: taskQueues.delivery } as const

/**
 * Workflows that stay in memory between two of their tasks, some 300 KB each. One that waits for days is read from its
 * history when it goes on, which takes milliseconds; so only those matter that go on at once.
 */
const CACHED_WORKFLOWS = { executions: 128, delivery: 64 } as const

/**
 * Workflow tasks at once (the default of the SDK is 40). A task whose place is free comes with the start of its execution, else Temporal hands
 * it out in a round of its own, which takes as much again.
 */
const WORKFLOW_TASKS = { executions: 100, delivery: 40 } as const
/**
 * Local activities at once, most of them segments (the default of the SDK is 100). Each takes a connection of the pool: with many more of them
 * than it has, the last would wait until their time is over where Postgres is slow.
 */
const LOCAL_ACTIVITIES_MAX = 40

/** Time that a stopping worker gives running activities. Those of lanes end at once; their mail is waited for elsewhere. */
const SHUTDOWN_GRACE = '10 seconds'

/**
 * One poll, because a frozen process keeps one lane for each open poll. The SDK holds a heartbeat back for two
 * seconds at most.
 */
const laneTuning = {
  activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 1 },
  maxHeartbeatThrottleInterval: '2 seconds',
} as const

/** The prebuilt bundle of a production build; without one it is built now (about two seconds). */
export async function loadWorkflowBundle(logger: Logger): Promise<WorkflowBundleOption> {
  const prebuilt = fileURLToPath(new URL('../workflows.bundle.js', import.meta.url))
  if (existsSync(prebuilt)) return { codePath: prebuilt }
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const workflowsPath = fileURLToPath(new URL(`../workflows/index.${extension}`, import.meta.url))
  return bundleWorkflowCode({ workflowsPath, logger })
}

export interface WorkerParts {
  connection: NativeConnection
  namespace: string
  roles: Config['workerRoles']
  activities: Activities
  workflowBundle: WorkflowBundleOption
}

/**
 * Tasks of calls at once, which take no place of segments. There are more of them than calls under way, so that those which wait for
 * their turn or are told to come again keep none of them from beginning.
 */
const CALL_TASKS_MAX = 2 * limits.httpCallsMax

/**
 * Makes one worker for each role, and one for the calls of nodes beside that of executions. A worker polls only after its
 * `run()` is called.
 */
export async function createWorkers(parts: WorkerParts): Promise<Worker[]> {
  const { connection, namespace, activities, workflowBundle } = parts
  const roles = [...new Set(parts.roles)]
  const shared = { connection, namespace, shutdownGraceTime: SHUTDOWN_GRACE }
  const ofRoles = roles.map((role) =>
    Worker.create({
      ...shared,
      taskQueue: queueOfRole[role],
      workflowBundle,
      activities,
      ...(role === 'delivery' ? laneTuning : {}),
      maxCachedWorkflows: CACHED_WORKFLOWS[role],
      maxConcurrentWorkflowTaskExecutions: WORKFLOW_TASKS[role],
      ...(role === 'executions'
        ? { maxConcurrentLocalActivityExecutions: LOCAL_ACTIVITIES_MAX }
        : {}),
    }),
  )
  if (!roles.includes('executions')) return Promise.all(ofRoles)
  const { callHttp } = activities
  const ofCalls = Worker.create({
    ...shared,
    taskQueue: taskQueues.http,
    activities: { callHttp },
    maxConcurrentActivityTaskExecutions: CALL_TASKS_MAX,
  })
  return Promise.all([...ofRoles, ofCalls])
}
