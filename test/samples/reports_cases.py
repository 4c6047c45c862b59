"""Twenty dental reports written for this project, and how one team paraphrased each.

B cases describe occlusion seen on intra-oral scans and photographs, T cases findings on CBCT volumes.
"""

from typing import NamedTuple


class Case(NamedTuple):
    reference: str
    paraphrase: str


CASES = {
    "B001": Case(
        "The molar relationship is Class I on both sides. Overjet and overbite are within normal limits. "
        "The dental midlines coincide. Mild crowding is present in the lower arch.",
        "Class I molar relationship bilaterally. Overjet and overbite are within normal limits. "
        "Coincident dental midlines. There is mild crowding in the lower arch.",
    ),
    "B002": Case(
        "Full Class II molar relationship on the right, Class I on the left. The overjet is increased. "
        "The lower midline is deviated to the right by about 2 mm. No crossbite.",
        "The molar relationship is full Class II on the right and Class I on the left. Increased overjet. "
        "The lower midline is shifted about 2 mm to the right. There is no crossbite.",
    ),
    "B003": Case(
        "Anterior open bite from tooth 13 to tooth 23. The maxilla is transversely constricted with a bilateral "
        "posterior crossbite. Class III molar relationship on both sides.",
        "An anterior open bite is present between teeth 13 and 23. Transverse constriction of the maxilla with "
        "posterior crossbite on both sides. Bilateral Class III molar relationship.",
    ),
    "B004": Case(
        "Deep bite with the lower incisors in contact with the palatal mucosa. The Curve of Spee is accentuated. "
        "Class II canine relationship bilaterally. Severe crowding in both arches.",
        "The bite is deep and the lower incisors touch the palatal mucosa. Accentuated Curve of Spee. "
        "Canine relationship is Class II on both sides. Both arches are severely crowded.",
    ),
    "B005": Case(
        "Tooth 12 is in crossbite. Tooth 22 is conoid. The upper midline is deviated to the left. "
        "Spaces are present between the upper incisors.",
        "Crossbite of tooth 12. Conoid tooth 22. The upper midline deviates to the left. "
        "There are spaces between the upper incisors.",
    ),
    "B006": Case(
        "Edge-to-edge incisor relationship. Class III tendency of the molars on the left. The lower arch shows "
        "spacing. Tooth 35 is missing and tooth 75 is still in place.",
        "The incisors are in an edge-to-edge relationship. The left molars tend to Class III. Spacing in the lower "
        "arch. Absence of tooth 35 with tooth 75 still in place.",
    ),
    "B007": Case(
        "Transverse, vertical and sagittal relationships are correct. Both arches are well aligned. No further "
        "findings.",
        "Correct transverse, vertical and sagittal relationships. Both arches are well aligned. No other findings.",
    ),
    "B008": Case(
        "Scissor bite of teeth 24 and 25. Overbite is increased. The molar relationship cannot be assessed on the "
        "right because tooth 46 is missing. Class I canine relationship on both sides.",
        "Teeth 24 and 25 are in scissor bite. Increased overbite. On the right the molar relationship cannot be "
        "assessed since tooth 46 is absent. Bilateral Class I canine relationship.",
    ),
    "B009": Case(
        "Mixed dentition. The permanent first molars are in Class II on the right and edge-to-edge on the left. "
        "Overjet of 6 mm. Lip incompetence is suspected. Moderate crowding in the upper arch.",
        "The dentition is mixed. First permanent molars: Class II on the right, edge-to-edge on the left. "
        "The overjet measures 6 mm. Suspected lip incompetence. The upper arch is moderately crowded.",
    ),
    "B010": Case(
        "Wear facets on all canines. The gingiva is inflamed around the lower incisors. Tooth 41 is rotated by "
        "approximately 40°. Class I molars and canines.",
        "All canines show wear facets. Inflamed gingiva around the lower incisors. Tooth 41 is rotated approximately "
        "40°. Molars and canines are in Class I.",
    ),
    "T001": Case(
        "Tooth 48 is impacted in mesial inclination and in close contact with the mandibular canal. "
        "Tooth 38 is absent. The maxillary sinuses are clear.",
        "Mesially inclined impaction of tooth 48, in close contact with the mandibular canal. "
        "Absence of tooth 38. Clear maxillary sinuses.",
    ),
    "T002": Case(
        "Periapical radiolucency of about 5 mm at the root of tooth 36, which shows an endodontic filling. "
        "The filling is short of the apex.",
        "A periapical radiolucency of about 5 mm is seen at the root of tooth 36. Tooth 36 has an endodontic filling "
        "that ends short of the apex.",
    ),
    "T003": Case(
        "Two endosseous implants in positions 14 and 16, correctly osseointegrated. A sinus lift was carried out on "
        "the right. Mucosal thickening of the right maxillary sinus.",
        "Endosseous implants in positions 14 and 16 with correct osseointegration. Previous sinus lift on the right. "
        "The mucosa of the right maxillary sinus is thickened.",
    ),
    "T004": Case(
        "Edentulous posterior mandible on both sides with marked vertical bone loss. The residual height above the "
        "canal is 7 mm on the left and 9 mm on the right.",
        "The posterior mandible is edentulous bilaterally and shows marked vertical bone loss. Residual height above "
        "the canal: 7 mm on the left, 9 mm on the right.",
    ),
    "T005": Case(
        "A well-defined unilocular radiolucency of 18 x 12 mm surrounds the crown of the unerupted tooth 38, "
        "compatible with a dentigerous cyst. The mandibular canal is displaced downwards.",
        "Around the crown of unerupted tooth 38 there is a unilocular, well-defined radiolucency of 18 x 12 mm, "
        "suggestive of a dentigerous cyst. Downward displacement of the mandibular canal.",
    ),
    "T006": Case(
        "Supernumerary tooth between 11 and 21 (mesiodens), inverted. Resorption of the root of tooth 21 is not seen.",
        "An inverted mesiodens lies between 11 and 21. There is no root resorption of tooth 21.",
    ),
    "T007": Case(
        "Généralisée perte osseuse: generalised horizontal bone loss of the maxilla and the mandible. Furcation "
        "involvement of teeth 16, 26 and 46. Tooth 27 is missing.",
        "Généralisée perte osseuse: horizontal bone loss is generalised in maxilla and mandible. The furcations of "
        "teeth 16, 26 and 46 are involved. Absence of tooth 27.",
    ),
    "T008": Case(
        "L’elemento 18 è incluso. L’elemento 28 è assente. Lesione periapicale dell’elemento 46. "
        "I seni mascellari sono liberi.",
        "Elemento 18 incluso. Assenza dell’elemento 28. È presente una lesione periapicale dell’elemento 46. "
        "Seni mascellari liberi.",
    ),
    "T009": Case(
        "Both condyles are flattened with subchondral sclerosis. An osteophyte is visible on the left condyle. "
        "The joint spaces are preserved.",
        "Flattening and subchondral sclerosis of both condyles. The left condyle shows an osteophyte. "
        "Preserved joint spaces.",
    ),
    "T010": Case(
        "The left maxillary canine is impacted palatally; its crown touches the root of tooth 22. "
        "The deciduous tooth 63 is retained.",
        "Palatal impaction of the left maxillary canine, whose crown touches the root of tooth 22. "
        "Retained deciduous tooth 63.",
    ),
}
