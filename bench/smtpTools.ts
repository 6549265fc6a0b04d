// Finds and runs Postfix's smtp-source and smtp-sink, the reference client and server in C.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { isListening, randomPort } from '../dev/processes/ports.ts'
import { startChild } from '../dev/processes/processes.ts'
import type { Servers } from './servers.ts'
import { waitFor } from './waitFor.ts'

const BACKLOG = 1000
const START_WAIT_MS = 10_000
const SOURCE_WAIT_MS = 120_000

export interface SmtpTools {
  source: string
  sink: string
  env: NodeJS.ProcessEnv
}

export function findSmtpTools(): SmtpTools {
  const script = join(import.meta.dirname, '..', 'dev', 'installPostfixTools.mjs')
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const { source, sink, libraries } = JSON.parse(stdout) as Record<string, string>
  if (!source || !sink) throw new Error(`unexpected: ${stdout}`)
  return { source, sink, env: { ...process.env, LD_LIBRARY_PATH: libraries ?? '' } }
}

/** Starts smtp-sink, which accepts all mail. @returns its port */
export async function startSmtpSink(servers: Servers, tools: SmtpTools): Promise<number> {
  const port = await randomPort()
  const child = await startChild({
    name: 'smtp-sink',
    command: tools.sink,
    args: ['-u', 'root', `127.0.0.1:${port}`, String(BACKLOG)],
    env: tools.env,
    cwd: servers.folder.root,
    logFile: servers.folder.log('smtp-sink'),
  })
  servers.record(child, ['SIGTERM', 'SIGKILL'])
  servers.add(() => child.stop({ wait_ms: 1_000 }))
  await waitFor(START_WAIT_MS, 'smtp-sink listens', async () =>
    (await isListening(port)) ? true : undefined,
  )
  return port
}

export interface Load {
  port: number
  mails: number
  connections: number
  bytes: number
}

/** Runs smtp-source over connections that it keeps open. @returns messages per second */
export function runSmtpSource(tools: SmtpTools, { port, mails, connections, bytes }: Load): number {
  const args = ['-d', '-s', connections, '-m', mails, '-l', bytes]
  const begin = performance.now()
  const { status, stderr } = spawnSync(
    tools.source,
    [...args.map(String), '-f', 'a@sender.test', '-t', 'b@mail.test', `127.0.0.1:${port}`],
    { env: tools.env, encoding: 'utf8', timeout: SOURCE_WAIT_MS },
  )
  if (status !== 0) throw new Error(`smtp-source: ${stderr}`)
  return mails / ((performance.now() - begin) / 1000)
}
