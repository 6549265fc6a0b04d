// Which headers of a mail its sender may not set.

const reserved =
  /^(from|to|cc|bcc|subject|date|message-id|reply-to|mime-.*|content-.*|dkim-signature|received|return-path|feedback-id)$/i

/** Headers that the service writes itself; one of them given twice would decide who is believed. */
export const isReservedHeader = (name: string): boolean => reserved.test(name)
