// Runs maildev, a mail inbox with a web page. A folder keeps its mail after it ends.
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, parse } from 'node:path'
import { type Child, startChild } from '../processes/processes.ts'
import { waitReady } from './services.ts'

/** The most messages that are kept, because maildev reads all into memory when it starts. */
const MAILS_KEPT = 1_000

export interface InboxOptions {
  folder: string
  webPort: number
  smtpPort: number
  logFile: string
}

/** The URLs of an inbox on these ports. */
export function inboxUrls({ webPort, smtpPort }: Pick<InboxOptions, 'webPort' | 'smtpPort'>) {
  return { webUrl: `http://127.0.0.1:${webPort}`, smtpUrl: `smtp://127.0.0.1:${smtpPort}` }
}

/** Starts maildev and waits until its page answers. First removes all but the newest thousand messages. */
export async function startInbox(options: InboxOptions): Promise<Child> {
  const { folder, webPort, smtpPort, logFile } = options
  mkdirSync(folder, { recursive: true })
  prune(folder)
  const require = createRequire(import.meta.url)
  const script = join(dirname(require.resolve('maildev/package.json')), 'bin', 'maildev')
  const child = await startChild({
    name: 'inbox',
    command: process.execPath,
    args: [
      script,
      ...['--ip', '127.0.0.1', '--web', String(webPort), '--smtp', String(smtpPort)],
      ...['--mail-directory', folder],
    ],
    // maildev takes further settings from variables of these names.
    hiddenEnv: /^MAILDEV_/,
    logFile,
  })
  await waitReady(child, `${inboxUrls(options).webUrl}/healthz`)
  return child
}

function prune(folder: string): void {
  const mails = readdirSync(folder)
    .filter((name) => name.endsWith('.eml'))
    .map((name) => ({ name, time_ms: statSync(join(folder, name)).mtimeMs }))
    .sort((a, b) => b.time_ms - a.time_ms)
  for (const { name } of mails.slice(MAILS_KEPT)) {
    rmSync(join(folder, name), { force: true })
    // The attachments of the message.
    rmSync(join(folder, parse(name).name), { recursive: true, force: true })
  }
}
