// A second DKIM verifier: dkimpy in Python, which gets the DNS records from the test.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'

const INSTALLER = join(import.meta.dirname, '..', '..', 'dev', 'installDkimpy.mjs')
const SCRIPT = join(import.meta.dirname, 'dkimpyVerify.py')

/**
 * Returns for each message the results of its signatures, the topmost first: `pass`, `fail`, or an error.
 * @param records name → text of its TXT record
 */
export async function verifyWithDkimpy(
  messages: readonly Buffer[],
  records: Record<string, string>,
): Promise<string[][]> {
  const { stdout } = await promisify(execFile)(process.execPath, [INSTALLER])
  const { python, path } = JSON.parse(stdout) as { python: string; path: string }
  const child = spawn(python, [SCRIPT], {
    env: { ...process.env, PYTHONPATH: path },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const encoded = messages.map((message) => message.toString('base64'))
  child.stdin.end(JSON.stringify({ messages: encoded, records }))
  const [answer, faults, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  if (code !== 0) throw new Error(`dkimpy: ${faults}`)
  return JSON.parse(answer) as string[][]
}
