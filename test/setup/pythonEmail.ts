// Reads messages with Python's email package, a second reader beside postal-mime.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

const SCRIPT = join(import.meta.dirname, 'pythonEmailRead.py')
const PYTHON = process.env['PYTHON'] || 'python3'

export interface PythonMail {
  /** All headers of the message in order, decoded, with their names as they came. */
  headers: [name: string, value: string][]
  /** The display name of From. */
  name: string
  /** The file names of the attachments and inline files. */
  files: string[]
}

/** Reads each message; answers in the order of the messages. */
export async function readWithPython(messages: readonly Buffer[]): Promise<PythonMail[]> {
  const child = spawn(PYTHON, [SCRIPT], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(JSON.stringify(messages.map((message) => message.toString('base64'))))
  const [answer, faults, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  if (code !== 0) throw new Error(`python: ${faults}`)
  return JSON.parse(answer) as PythonMail[]
}
