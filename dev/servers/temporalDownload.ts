// Downloads the development server through the Temporal SDK, if the network allows it.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Part } from '../console.mjs'
import { showing } from '../console.mjs'
import { lastLines, startChild } from '../processes/processes.ts'

const DOWNLOAD_WAIT_MS = 180_000
/** Time to the first bytes of the download, which without a network may neither end nor fail. */
const QUIET_MS = 20_000

const SCRIPT = `
  const { TestWorkflowEnvironment } = require('@temporalio/testing')
  const executable = { type: 'cached-download', downloadDir: process.argv[1] }
  TestWorkflowEnvironment.createLocal({ server: { executable, ui: false } })
    .then((server) => server.teardown())
    .then(() => process.exit(0), (err) => { console.error(err.message); process.exit(1) })
`

/** The file name of the SDK's download in a folder. */
export function sdkFile(folder: string): string {
  const { version } = createRequire(import.meta.url)('@temporalio/testing/package.json') as {
    version: string
  }
  return join(folder, `temporal-sdk-typescript-${version}`)
}

/**
 * Downloads into `folder`, in a child process, because the SDK has no time limit.
 * @returns the path of the server
 * @throws Error with the reason of a failure
 */
export async function downloadServer(folder: string, part: Part): Promise<string> {
  // A folder for each process: one that starts must not remove what another one is downloading.
  const draft = `${folder}.new-${process.pid}`
  try {
    const file = await downloadInto(draft, part)
    mkdirSync(folder, { recursive: true })
    renameSync(file, sdkFile(folder))
    return sdkFile(folder)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

async function downloadInto(folder: string, part: Part): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const logFile = join(folder, 'download.log')
  const child = await startChild({
    name: 'download',
    command: process.execPath,
    args: ['-e', SCRIPT, folder],
    logFile,
    cwd: join(import.meta.dirname, '..', '..'),
  })
  const limit = setTimeout(() => void child.kill(), DOWNLOAD_WAIT_MS)
  const quiet = setTimeout(() => {
    if (bytesIn(folder) === 0) void child.kill()
  }, QUIET_MS)
  const describe = (seconds: number) =>
    `downloading, ${(bytesIn(folder) / 2 ** 20).toFixed(0)} MB so far, ${seconds} s`
  const { code } = await showing(part, describe, child.exited)
  clearTimeout(limit)
  clearTimeout(quiet)
  if (code === 0) return sdkFile(folder)
  throw new Error(causeIn(lastLines(logFile, 1)) || 'no answer in time')
}

/** The SDK's message goes from the outside in; its last two parts say what stood in the way. */
function causeIn(message: string): string {
  return message.split(': ').slice(-2).join(': ')
}

function bytesIn(folder: string): number {
  if (!existsSync(folder)) return 0
  const sizes = readdirSync(folder).map((name) =>
    statSync(join(folder, name), { throwIfNoEntry: false }),
  )
  return sizes.reduce((sum, stats) => sum + (stats?.size ?? 0), 0)
}
