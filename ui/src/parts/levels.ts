import { texts } from "@/texts";

/** The least level of lines that are shown. */
export const LEVEL_CHOICES = [
  { value: "", label: texts.parts.allLevels },
  { value: "info", label: texts.parts.infoAndAbove },
  { value: "warning", label: texts.parts.warningsAndErrors },
  { value: "error", label: texts.parts.errors },
];
