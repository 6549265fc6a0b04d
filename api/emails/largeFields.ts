// The fields of an email that may be large: they are taken out of the body while it comes.
import { limits } from '../../rules/limits.ts'
import type { LargeFields } from '../http/bodies/splitter.ts'

export const emailLargeFields: LargeFields = {
  texts: ['html', 'text'],
  textBytesMax: limits.htmlBytesMax,
  base64: {
    list: 'attachments',
    field: 'content',
    bytesMax: limits.attachmentsBytesMax,
    countMax: limits.attachmentsPerEmailMax,
  },
}
