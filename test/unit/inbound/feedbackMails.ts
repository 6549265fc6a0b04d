// Reports of feedback loops about a mail of ours, in the form of real loops.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '..', '..', 'fixtures', 'feedback')

/** The forms, by the loop that writes so. */
export const loops = readdirSync(FOLDER).map((file) => file.replace('.eml', ''))

export interface ReportedMail {
  returnPath: string
  messageId: string
}

/** A report about a mail, with CRLF. */
export function reportOf(loop: string, { returnPath, messageId }: ReportedMail): string {
  return readFileSync(join(FOLDER, `${loop}.eml`), 'utf8')
    .replaceAll('@RETURN_PATH@', returnPath)
    .replaceAll('@MESSAGE_ID@', messageId)
    .replace(/@BASE64@\n([\s\S]*?)@END@/g, (_, text: string) => inBase64(text))
    .replaceAll('\n', '\r\n')
}

const inBase64 = (text: string) =>
  Buffer.from(text.replaceAll('\n', '\r\n')).toString('base64').replace(/.{76}/g, '$&\n')
